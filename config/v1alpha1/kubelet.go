// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "net/netip"

// KubeletConfig describes the kubelet.
type KubeletConfig struct {
	// The image; the release's own without it.
	Image string `yaml:"image,omitempty"`
	// The DNS servers of pods; that of the cluster without any.
	ClusterDNS []netip.Addr `yaml:"clusterDNS,omitempty"`
	// Flags, by their names without dashes. A flag with a list of values is repeated.
	ExtraArgs ExtraArgs `yaml:"extraArgs,omitempty"`
	// More mounts of the kubelet's container.
	ExtraMounts []ExtraMount `yaml:"extraMounts,omitempty"`
	// A KubeletConfiguration, as Kubernetes documents it, without apiVersion and kind.
	ExtraConfig Object `yaml:"extraConfig,omitempty"`
	// A CredentialProviderConfig, as Kubernetes documents it: programs that know the credentials of registries.
	CredentialProvider Object `yaml:"credentialProviderConfig,omitempty" merge:"replace"`
	// Whether containers have the runtime's seccomp profile unless they name another.
	DefaultSeccompProfile *bool `yaml:"defaultRuntimeSeccompProfileEnabled,omitempty"`
	// Whether the name of the Node has the domain in it.
	RegisterWithFQDN *bool `yaml:"registerWithFQDN,omitempty"`
	// The addresses of the Node.
	NodeIP NodeIPConfig `yaml:"nodeIP,omitempty"`
	// Whether the kubelet does not register the Node.
	SkipNodeRegistration *bool `yaml:"skipNodeRegistration,omitempty"`
	// Whether the kubelet does not read static pods from /etc/kubernetes/manifests; it does not without this key.
	DisableManifestsDirectory *bool `yaml:"disableManifestsDirectory,omitempty"`
}

// NodeIPConfig selects the addresses of the Node. A subnet that starts with "!" is excluded.
type NodeIPConfig struct {
	// The networks that the addresses are in; with ! in front those that they are not in.
	ValidSubnets []string `yaml:"validSubnets,omitempty"`
}

// ExtraMount is an additional mount of the kubelet's container, as in the OCI runtime specification.
type ExtraMount struct {
	// The path in the container.
	Destination string `yaml:"destination"`
	// The type of the mount, such as bind.
	Type string `yaml:"type,omitempty"`
	// The path on the machine.
	Source string `yaml:"source,omitempty"`
	// Options of the mount, such as rshared and rw.
	Options []string `yaml:"options,omitempty"`
	// How users of the container map to users of the machine.
	UIDMappings []IDMapping `yaml:"uidMappings,omitempty"`
	// How groups of the container map to groups of the machine.
	GIDMappings []IDMapping `yaml:"gidMappings,omitempty"`
}

// IDMapping maps a range of user or group ids into a container.
type IDMapping struct {
	// The first id in the container.
	ContainerID uint32 `yaml:"containerID"`
	// The first id on the machine.
	HostID uint32 `yaml:"hostID"`
	// How many ids there are.
	Size uint32 `yaml:"size"`
}
