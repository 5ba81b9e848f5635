// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// FeaturesConfig turns features of the system on or off.
type FeaturesConfig struct {
	RBAC                     *bool                    `yaml:"rbac,omitempty"`
	StableHostname           *bool                    `yaml:"stableHostname,omitempty"`
	KubernetesTalosAPIAccess KubernetesTalosAPIAccess `yaml:"kubernetesTalosAPIAccess,omitempty"`
	APIDCheckExtKeyUsage     *bool                    `yaml:"apidCheckExtKeyUsage,omitempty"`
	DiskQuotaSupport         *bool                    `yaml:"diskQuotaSupport,omitempty"`
	KubePrism                KubePrism                `yaml:"kubePrism,omitempty"`
	HostDNS                  HostDNS                  `yaml:"hostDNS,omitempty"`
	ImageCache               ImageCache               `yaml:"imageCache,omitempty"`
	NodeAddressSortAlgorithm string                   `yaml:"nodeAddressSortAlgorithm,omitempty"`
}

// KubernetesTalosAPIAccess lets pods of some namespaces call the machine API.
type KubernetesTalosAPIAccess struct {
	Enabled                     *bool    `yaml:"enabled,omitempty"`
	AllowedRoles                []string `yaml:"allowedRoles,omitempty"`
	AllowedKubernetesNamespaces []string `yaml:"allowedKubernetesNamespaces,omitempty"`
}

// KubePrism is the load balancer to the API servers on every node's loopback.
type KubePrism struct {
	Enabled *bool `yaml:"enabled,omitempty"`
	Port    int   `yaml:"port,omitempty"`
}

// HostDNS is the caching resolver on every node.
type HostDNS struct {
	Enabled              *bool `yaml:"enabled,omitempty"`
	ForwardKubeDNSToHost *bool `yaml:"forwardKubeDNSToHost,omitempty"`
	ResolveMemberNames   *bool `yaml:"resolveMemberNames,omitempty"`
}

// ImageCache serves images from the machine's own cache partition.
type ImageCache struct {
	LocalEnabled *bool `yaml:"localEnabled,omitempty"`
}
