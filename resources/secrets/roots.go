// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var osRootDefinition = domain.Type("OSRootSecrets")

// OSRootSpec is the authority of the machine's API, which signs apid's certificates, and the token with which workers request theirs.
type OSRootSpec struct {
	IssuingCA       CertAndKey   `yaml:"issuingCA" protobuf:"1"`
	CertSANIPs      []netip.Addr `yaml:"certSANIPs" protobuf:"2"`
	CertSANDNSNames []string     `yaml:"certSANDNSNames" protobuf:"3"`
	Token           string       `yaml:"token" protobuf:"4"`
	AcceptedCAs     []Cert       `yaml:"acceptedCAs" protobuf:"5"`
}

// Definition implements resource.Spec.
func (OSRootSpec) Definition() *resource.Definition { return osRootDefinition }

var etcdRootDefinition = domain.Type("EtcdRootSecrets")

// EtcdRootSpec is the authority of etcd.
type EtcdRootSpec struct {
	EtcdCA CertAndKey `yaml:"etcdCA" protobuf:"1"`
}

// Definition implements resource.Spec.
func (EtcdRootSpec) Definition() *resource.Definition { return etcdRootDefinition }

var kubernetesRootDefinition = domain.Type("KubernetesRootSecrets")

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

var maintenanceRootDefinition = domain.Type("MaintenanceRootSecrets")

// MaintenanceRootSpec is the authority of the maintenance API, generated at each boot.
type MaintenanceRootSpec struct {
	CA CertAndKey `yaml:"ca" protobuf:"1"`
}

// Definition implements resource.Spec.
func (MaintenanceRootSpec) Definition() *resource.Definition { return maintenanceRootDefinition }
