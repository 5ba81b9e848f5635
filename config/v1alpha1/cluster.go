// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"net/netip"
	"time"
)

// ClusterConfig describes the Kubernetes cluster that the machine belongs to.
type ClusterConfig struct {
	ID                     string                  `yaml:"id,omitempty"`
	Secret                 string                  `yaml:"secret,omitempty"`
	ControlPlane           ControlPlane            `yaml:"controlPlane"`
	ClusterName            string                  `yaml:"clusterName,omitempty"`
	Network                ClusterNetwork          `yaml:"network,omitempty"`
	Token                  string                  `yaml:"token,omitempty"`
	AESCBCEncryptionSecret string                  `yaml:"aescbcEncryptionSecret,omitempty"`
	SecretboxSecret        string                  `yaml:"secretboxEncryptionSecret,omitempty"`
	CA                     CertPair                `yaml:"ca,omitempty"`
	AcceptedCAs            []Cert                  `yaml:"acceptedCAs,omitempty"`
	AggregatorCA           CertPair                `yaml:"aggregatorCA,omitempty"`
	ServiceAccount         KeyOnly                 `yaml:"serviceAccount,omitempty"`
	APIServer              APIServerConfig         `yaml:"apiServer,omitempty"`
	ControllerManager      ControllerManagerConfig `yaml:"controllerManager,omitempty"`
	Proxy                  ProxyConfig             `yaml:"proxy,omitempty"`
	Scheduler              SchedulerConfig         `yaml:"scheduler,omitempty"`
	Discovery              DiscoveryConfig         `yaml:"discovery,omitempty"`
	Etcd                   EtcdConfig              `yaml:"etcd,omitempty"`
	CoreDNS                CoreDNSConfig           `yaml:"coreDNS,omitempty"`
	ExternalCloudProvider  ExternalCloudProvider   `yaml:"externalCloudProvider,omitempty"`
	ExtraManifests         []string                `yaml:"extraManifests,omitempty"`
	ExtraManifestHeaders   map[string]string       `yaml:"extraManifestHeaders,omitempty"`
	InlineManifests        []InlineManifest        `yaml:"inlineManifests,omitempty"`
	AdminKubeconfig        AdminKubeconfig         `yaml:"adminKubeconfig,omitempty"`

	// The first is the older name of the second. Either allows pods on control plane machines.
	AllowSchedulingOnMasters       *bool `yaml:"allowSchedulingOnMasters,omitempty"`
	AllowSchedulingOnControlPlanes *bool `yaml:"allowSchedulingOnControlPlanes,omitempty"`
}

// ControlPlane describes how to reach the API servers.
type ControlPlane struct {
	Endpoint           URL `yaml:"endpoint"`
	LocalAPIServerPort int `yaml:"localAPIServerPort,omitempty"`
}

// ClusterNetwork describes the networks of pods and services.
type ClusterNetwork struct {
	CNI            CNIConfig      `yaml:"cni,omitempty"`
	DNSDomain      string         `yaml:"dnsDomain,omitempty"`
	PodSubnets     []netip.Prefix `yaml:"podSubnets,omitempty" merge:"replace"`
	ServiceSubnets []netip.Prefix `yaml:"serviceSubnets,omitempty" merge:"replace"`
}

// CNIConfig chooses the pod network: flannel, custom (manifests by URL) or none.
type CNIConfig struct {
	Name    string        `yaml:"name,omitempty"`
	URLs    []string      `yaml:"urls,omitempty"`
	Flannel FlannelConfig `yaml:"flannel,omitempty"`
}

// FlannelConfig configures flannel.
type FlannelConfig struct {
	ExtraArgs                  []string `yaml:"extraArgs,omitempty"`
	KubeNetworkPoliciesEnabled *bool    `yaml:"kubeNetworkPoliciesEnabled,omitempty"`
}

// EtcdConfig describes etcd.
type EtcdConfig struct {
	Image             string    `yaml:"image,omitempty"`
	CA                CertPair  `yaml:"ca,omitempty"`
	ExtraArgs         ExtraArgs `yaml:"extraArgs,omitempty"`
	Subnet            string    `yaml:"subnet,omitempty"`
	AdvertisedSubnets []string  `yaml:"advertisedSubnets,omitempty"`
	ListenSubnets     []string  `yaml:"listenSubnets,omitempty"`
}

// DiscoveryConfig describes how the machines of a cluster find each other.
type DiscoveryConfig struct {
	Enabled    *bool               `yaml:"enabled,omitempty"`
	Registries DiscoveryRegistries `yaml:"registries,omitempty"`
}

// DiscoveryRegistries are the places where machines announce themselves.
type DiscoveryRegistries struct {
	Kubernetes Switch           `yaml:"kubernetes"`
	Service    DiscoveryService `yaml:"service"`
}

// DiscoveryService configures the discovery service.
type DiscoveryService struct {
	Disabled *bool  `yaml:"disabled,omitempty"`
	Endpoint string `yaml:"endpoint,omitempty"`
}

// CoreDNSConfig describes CoreDNS.
type CoreDNSConfig struct {
	Disabled *bool  `yaml:"disabled,omitempty"`
	Image    string `yaml:"image,omitempty"`
}

// ExternalCloudProvider configures an external cloud controller and its manifests.
type ExternalCloudProvider struct {
	Enabled   *bool    `yaml:"enabled,omitempty"`
	Manifests []string `yaml:"manifests,omitempty"`
}

// InlineManifest is a named text of Kubernetes objects.
type InlineManifest struct {
	Name     string `yaml:"name"`
	Contents string `yaml:"contents"`
}

// AdminKubeconfig configures the administrator's kubeconfig.
type AdminKubeconfig struct {
	CertLifetime time.Duration `yaml:"certLifetime,omitempty"`
}
