// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var kubernetesRootDefinition = &resource.Definition{
	Type:             "KubernetesRootSecrets.secrets.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

// KubernetesRootSpec is the key material of the Kubernetes control plane.
type KubernetesRootSpec struct {
	Name                       string         `yaml:"name" protobuf:"1"`
	Endpoint                   URL            `yaml:"endpoint" protobuf:"2"`
	LocalEndpoint              URL            `yaml:"local_endpoint" protobuf:"3"`
	CertSANs                   []string       `yaml:"certSANs" protobuf:"4"`
	DNSDomain                  string         `yaml:"dnsDomain" protobuf:"6"`
	IssuingCA                  CertAndKey     `yaml:"issuingCA" protobuf:"7"`
	ServiceAccount             Key            `yaml:"serviceAccount" protobuf:"8"`
	AggregatorCA               CertAndKey     `yaml:"aggregatorCA" protobuf:"9"`
	AESCBCEncryptionSecret     string         `yaml:"aescbcEncryptionSecret" protobuf:"10"`
	BootstrapTokenID           string         `yaml:"bootstrapTokenID" protobuf:"11"`
	BootstrapTokenSecret       string         `yaml:"bootstrapTokenSecret" protobuf:"12"`
	SecretboxEncryptionSecret  string         `yaml:"secretboxEncryptionSecret" protobuf:"13"`
	APIServerIPs               []netip.Addr   `yaml:"apiServerIPs" protobuf:"14"`
	AcceptedCAs                []Cert         `yaml:"acceptedCAs" protobuf:"15"`
	EtcdEncryptionConfig       map[string]any `yaml:"etcdEncryptionConfig,omitempty" protobuf:"16"`
	AcceptedAggregatorCAs      []Cert         `yaml:"acceptedAggregatorCAs" protobuf:"17"`
	ServiceAccountAcceptedKeys []Key          `yaml:"serviceAccountAcceptedKeys" protobuf:"18"`
	IssuerURL                  string         `yaml:"issuerURL" protobuf:"19"`
	AcceptedIssuers            []string       `yaml:"acceptedIssuers" protobuf:"20"`
	APIAudiences               []string       `yaml:"apiAudiences" protobuf:"21"`
}

// Definition implements resource.Spec.
func (KubernetesRootSpec) Definition() *resource.Definition { return kubernetesRootDefinition }
