// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var certSANDefinition = domain.Type("CertSANs")

// CertSANSpec is a set of names and addresses that a certificate is issued for.
type CertSANSpec struct {
	IPs      []netip.Addr `yaml:"ips" protobuf:"1"`
	DNSNames []string     `yaml:"dnsNames" protobuf:"2"`
	FQDN     string       `yaml:"fqdn" protobuf:"3"`
}

// Definition implements resource.Spec.
func (CertSANSpec) Definition() *resource.Definition { return certSANDefinition }

var apiCertsDefinition = domain.Type("ApiCertificates")

// APICertsSpec has the certificates of apid: the server's and, on a control plane, the one for calls to other nodes.
type APICertsSpec struct {
	Client                  CertAndKey `yaml:"client" protobuf:"2"`
	Server                  CertAndKey `yaml:"server" protobuf:"3"`
	AcceptedCAs             []Cert     `yaml:"acceptedCAs" protobuf:"4"`
	SkipVerifyingClientCert bool       `yaml:"skipVerifyingClientCert" protobuf:"5"`
}

// Definition implements resource.Spec.
func (APICertsSpec) Definition() *resource.Definition { return apiCertsDefinition }

var trustdCertsDefinition = domain.Type("TrustdCertificates")

// TrustdCertsSpec has the certificate of trustd.
type TrustdCertsSpec struct {
	Server      CertAndKey `yaml:"server" protobuf:"2"`
	AcceptedCAs []Cert     `yaml:"acceptedCAs" protobuf:"3"`
}

// Definition implements resource.Spec.
func (TrustdCertsSpec) Definition() *resource.Definition { return trustdCertsDefinition }

var discoverydDefinition = domain.Type("DiscoverydSecrets")

// DiscoverydSpec has the certificate of discoveryd, and what it checks its callers with.
type DiscoverydSpec struct {
	Server CertAndKey `yaml:"server" protobuf:"1"`
	// ClusterID is the only cluster that is served.
	ClusterID string `yaml:"clusterID" protobuf:"2"`
	// ProofKey checks that callers know the cluster's secret. It is derived from the secret and decrypts nothing.
	ProofKey []byte `yaml:"proofKey" protobuf:"3"`
}

// Definition implements resource.Spec.
func (DiscoverydSpec) Definition() *resource.Definition { return discoverydDefinition }

var etcdCertsDefinition = domain.Type("EtcdSecrets")

// EtcdCertsSpec has the certificates of etcd and of its clients.
type EtcdCertsSpec struct {
	Etcd          CertAndKey `yaml:"etcd" protobuf:"1"`
	EtcdPeer      CertAndKey `yaml:"etcdPeer" protobuf:"2"`
	EtcdAdmin     CertAndKey `yaml:"etcdAdmin" protobuf:"3"`
	EtcdAPIServer CertAndKey `yaml:"etcdAPIServer" protobuf:"4"`
}

// Definition implements resource.Spec.
func (EtcdCertsSpec) Definition() *resource.Definition { return etcdCertsDefinition }

var kubernetesCertsDefinition = domain.Type("KubernetesSecrets")

// KubernetesCertsSpec has the kubeconfigs of the control plane's own clients.
type KubernetesCertsSpec struct {
	SchedulerKubeconfig         string `yaml:"schedulerKubeconfig" protobuf:"4"`
	ControllerManagerKubeconfig string `yaml:"controllerManagerKubeconfig" protobuf:"5"`
	LocalhostAdminKubeconfig    string `yaml:"localhostAdminKubeconfig" protobuf:"6"`
	AdminKubeconfig             string `yaml:"adminKubeconfig" protobuf:"7"`
}

// Definition implements resource.Spec.
func (KubernetesCertsSpec) Definition() *resource.Definition { return kubernetesCertsDefinition }

var kubernetesDynamicCertsDefinition = domain.Type("KubernetesDynamicCerts")

// KubernetesDynamicCertsSpec has the certificates of the API server, which depend on the node's names and addresses.
type KubernetesDynamicCertsSpec struct {
	APIServer              CertAndKey `yaml:"apiServer" protobuf:"1"`
	APIServerKubeletClient CertAndKey `yaml:"apiServerKubeletClient" protobuf:"2"`
	FrontProxy             CertAndKey `yaml:"frontProxy" protobuf:"3"`
}

// Definition implements resource.Spec.
func (KubernetesDynamicCertsSpec) Definition() *resource.Definition {
	return kubernetesDynamicCertsDefinition
}
