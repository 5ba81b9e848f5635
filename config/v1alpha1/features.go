// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// FeaturesConfig turns features of the system on or off.
type FeaturesConfig struct {
	// Whether the roles of clients are checked. They always are: false has no effect.
	RBAC *bool `yaml:"rbac,omitempty" replaced:"1.12"`
	// Whether a machine without a name derives one from its identity.
	StableHostname *bool `yaml:"stableHostname,omitempty" replaced:"1.12"`
	// Which pods may call the machine API.
	KubernetesTalosAPIAccess KubernetesTalosAPIAccess `yaml:"kubernetesTalosAPIAccess,omitempty" replaced:"1.14"`
	// Whether the key usage of clients' certificates is checked. It always is.
	APIDCheckExtKeyUsage *bool `yaml:"apidCheckExtKeyUsage,omitempty" replaced:"1.12"`
	// Whether the kubelet counts the disk space of pods by project quotas.
	DiskQuotaSupport *bool `yaml:"diskQuotaSupport,omitempty"`
	// The load balancer to the API servers on every machine's loopback.
	KubePrism KubePrism `yaml:"kubePrism,omitempty" replaced:"1.14"`
	// The machine's own DNS server.
	HostDNS HostDNS `yaml:"hostDNS,omitempty" replaced:"1.14"`
	// The image cache on the machine's own disk.
	ImageCache ImageCache `yaml:"imageCache,omitempty" replaced:"1.14"`
	// The order of the machine's addresses: v1 is by address, v2 also puts single addresses (/32, /128) last.
	NodeAddressSortAlgorithm string `yaml:"nodeAddressSortAlgorithm,omitempty"`
}

// KubernetesTalosAPIAccess lets pods of some namespaces call the machine API.
type KubernetesTalosAPIAccess struct {
	// Whether pods may call it.
	Enabled *bool `yaml:"enabled,omitempty"`
	// The roles that pods may have.
	AllowedRoles []string `yaml:"allowedRoles,omitempty"`
	// The namespaces of these pods.
	AllowedKubernetesNamespaces []string `yaml:"allowedKubernetesNamespaces,omitempty"`
}

// KubePrism is the load balancer to the API servers on every node's loopback.
type KubePrism struct {
	// Whether the machine has it.
	Enabled *bool `yaml:"enabled,omitempty"`
	// The port on the loopback; 7445 without it.
	Port int `yaml:"port,omitempty"`
}

// HostDNS is the caching resolver on every node.
type HostDNS struct {
	// Whether there is one.
	Enabled *bool `yaml:"enabled,omitempty"`
	// Whether the DNS server of Kubernetes asks it too.
	ForwardKubeDNSToHost *bool `yaml:"forwardKubeDNSToHost,omitempty"`
	// Whether it knows the names of the members of the cluster.
	ResolveMemberNames *bool `yaml:"resolveMemberNames,omitempty"`
}

// ImageCache serves images from the machine's own cache partition.
type ImageCache struct {
	// Whether it is used.
	LocalEnabled *bool `yaml:"localEnabled,omitempty"`
}
