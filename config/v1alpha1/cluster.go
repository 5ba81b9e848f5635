// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"net/netip"
	"time"
)

// ClusterConfig describes the Kubernetes cluster that the machine belongs to.
type ClusterConfig struct {
	// The identity of the cluster for discovery: 32 bytes in base64.
	ID string `yaml:"id,omitempty" replaced:"1.14"`
	// The key that encrypts what the machines tell each other through discovery: 32 bytes in base64.
	Secret string `yaml:"secret,omitempty" replaced:"1.14"`
	// Where the API servers are reached.
	ControlPlane ControlPlane `yaml:"controlPlane" replaced:"1.14"`
	// The name of the cluster.
	ClusterName string `yaml:"clusterName,omitempty" replaced:"1.14"`
	// The networks of pods and Services.
	Network ClusterNetwork `yaml:"network,omitempty" replaced:"1.14"`
	// The token with which kubelets join the cluster.
	Token string `yaml:"token,omitempty"`
	// The key that encrypts Secrets in etcd with AES-CBC: 32 bytes in base64. Older clusters have it.
	AESCBCEncryptionSecret string `yaml:"aescbcEncryptionSecret,omitempty" replaced:"1.12"`
	// The key that encrypts Secrets in etcd with secretbox: 32 bytes in base64.
	SecretboxSecret string `yaml:"secretboxEncryptionSecret,omitempty" replaced:"1.14"`
	// The authority of Kubernetes. Workers have it without its key.
	CA CertPair `yaml:"ca,omitempty" replaced:"1.14"`
	// More authorities of Kubernetes that are accepted.
	AcceptedCAs []Cert `yaml:"acceptedCAs,omitempty" replaced:"1.14"`
	// The authority by which the API server proves itself to its extensions.
	AggregatorCA CertPair `yaml:"aggregatorCA,omitempty" replaced:"1.14"`
	// The key that signs the tokens of service accounts.
	ServiceAccount KeyOnly `yaml:"serviceAccount,omitempty" replaced:"1.14"`
	// The API server.
	APIServer APIServerConfig `yaml:"apiServer,omitempty" replaced:"1.14"`
	// The controller manager.
	ControllerManager ControllerManagerConfig `yaml:"controllerManager,omitempty" replaced:"1.14"`
	// kube-proxy, which carries traffic to Services.
	Proxy ProxyConfig `yaml:"proxy,omitempty" replaced:"1.14"`
	// The scheduler.
	Scheduler SchedulerConfig `yaml:"scheduler,omitempty" replaced:"1.14"`
	// How the machines of the cluster find each other.
	Discovery DiscoveryConfig `yaml:"discovery,omitempty" replaced:"1.14"`
	// etcd.
	Etcd EtcdConfig `yaml:"etcd,omitempty"`
	// CoreDNS, the DNS server of the cluster.
	CoreDNS CoreDNSConfig `yaml:"coreDNS,omitempty" replaced:"1.14"`
	// A cloud controller manager that the cluster runs.
	ExternalCloudProvider ExternalCloudProvider `yaml:"externalCloudProvider,omitempty"`
	// URLs of more manifests to apply.
	ExtraManifests []string `yaml:"extraManifests,omitempty" replaced:"1.14"`
	// Headers of the requests for extraManifests.
	ExtraManifestHeaders map[string]string `yaml:"extraManifestHeaders,omitempty" replaced:"1.14"`
	// More manifests to apply.
	InlineManifests []InlineManifest `yaml:"inlineManifests,omitempty" replaced:"1.14"`
	// The administrator's kubeconfig.
	AdminKubeconfig AdminKubeconfig `yaml:"adminKubeconfig,omitempty"`
	// The older name of allowSchedulingOnControlPlanes.
	AllowSchedulingOnMasters *bool `yaml:"allowSchedulingOnMasters,omitempty" replaced:"1.12"`
	// Whether ordinary pods may run on control plane machines.
	AllowSchedulingOnControlPlanes *bool `yaml:"allowSchedulingOnControlPlanes,omitempty" replaced:"1.14"`
}

// ControlPlane describes how to reach the API servers.
type ControlPlane struct {
	// The URL of the API server, by which machines and people reach it: of a load balancer, of a shared address, or a DNS name.
	Endpoint URL `yaml:"endpoint"`
	// The port that the API server listens on; 6443 without it.
	LocalAPIServerPort int `yaml:"localAPIServerPort,omitempty"`
}

// ClusterNetwork describes the networks of pods and services.
type ClusterNetwork struct {
	// The network between pods.
	CNI CNIConfig `yaml:"cni,omitempty"`
	// The domain of the cluster's names; cluster.local without it.
	DNSDomain string `yaml:"dnsDomain,omitempty"`
	// The networks of pods: one for each family of addresses.
	PodSubnets []netip.Prefix `yaml:"podSubnets,omitempty" merge:"replace"`
	// The networks of Services: one for each family of addresses.
	ServiceSubnets []netip.Prefix `yaml:"serviceSubnets,omitempty" merge:"replace"`
}

// CNIConfig chooses the pod network: flannel, custom (manifests by URL) or none.
type CNIConfig struct {
	// What connects pods: flannel, custom (the manifests in urls) or none; flannel without it.
	Name string `yaml:"name,omitempty"`
	// URLs of the manifests of a custom network.
	URLs []string `yaml:"urls,omitempty"`
	// Settings of flannel.
	Flannel FlannelConfig `yaml:"flannel,omitempty"`
}

// FlannelConfig configures flannel.
type FlannelConfig struct {
	// Flags of flanneld, with their dashes.
	ExtraArgs []string `yaml:"extraArgs,omitempty"`
	// Whether NetworkPolicies are enforced.
	KubeNetworkPoliciesEnabled *bool `yaml:"kubeNetworkPoliciesEnabled,omitempty"`
}

// EtcdConfig describes etcd.
type EtcdConfig struct {
	// The image of etcd; the release's own without it.
	Image string `yaml:"image,omitempty"`
	// The authority of etcd.
	CA CertPair `yaml:"ca,omitempty"`
	// Flags of etcd, by their names without dashes. A flag with a list of values is repeated.
	ExtraArgs ExtraArgs `yaml:"extraArgs,omitempty"`
	// The older form of advertisedSubnets, with one network.
	Subnet string `yaml:"subnet,omitempty" replaced:"1.12"`
	// The networks that the addresses told to other members are in; with ! in front those that they are not in.
	AdvertisedSubnets []string `yaml:"advertisedSubnets,omitempty"`
	// The networks that the addresses etcd listens on are in; with ! in front those that they are not in.
	ListenSubnets []string `yaml:"listenSubnets,omitempty"`
}

// DiscoveryConfig describes how the machines of a cluster find each other.
type DiscoveryConfig struct {
	// Whether the machines find each other.
	Enabled *bool `yaml:"enabled,omitempty"`
	// Through what they find each other.
	Registries DiscoveryRegistries `yaml:"registries,omitempty"`
}

// DiscoveryRegistries are the places where machines announce themselves.
type DiscoveryRegistries struct {
	// Annotations of the Nodes of Kubernetes. Only an explicit disabled: false uses them, because kubelets of current versions of Kubernetes may
	// not list the Nodes.
	Kubernetes Switch `yaml:"kubernetes"`
	// A discovery service, beside those that control planes carry.
	Service DiscoveryService `yaml:"service"`
}

// DiscoveryService configures the discovery service.
type DiscoveryService struct {
	// Whether the service is not used.
	Disabled *bool `yaml:"disabled,omitempty"`
	// The URL of the service.
	Endpoint string `yaml:"endpoint,omitempty"`
}

// CoreDNSConfig describes CoreDNS.
type CoreDNSConfig struct {
	// Whether the cluster has no CoreDNS of this system.
	Disabled *bool `yaml:"disabled,omitempty"`
	// The image; the release's own without it.
	Image string `yaml:"image,omitempty"`
}

// ExternalCloudProvider configures an external cloud controller and its manifests.
type ExternalCloudProvider struct {
	// Whether Nodes wait until a cloud controller manager has initialized them.
	Enabled *bool `yaml:"enabled,omitempty"`
	// URLs of the manifests of the cloud controller manager.
	Manifests []string `yaml:"manifests,omitempty"`
}

// InlineManifest is a named text of Kubernetes objects.
type InlineManifest struct {
	// The name of the manifest.
	Name string `yaml:"name"`
	// The objects of Kubernetes, as YAML documents.
	Contents string `yaml:"contents"`
}

// AdminKubeconfig configures the administrator's kubeconfig.
type AdminKubeconfig struct {
	// How long the certificate of the administrator's kubeconfig is valid; 8760h (a year) without it.
	CertLifetime time.Duration `yaml:"certLifetime,omitempty"`
}
