// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "net/netip"

// KubeletConfig describes the kubelet.
type KubeletConfig struct {
	Image                     string       `yaml:"image,omitempty"`
	ClusterDNS                []netip.Addr `yaml:"clusterDNS,omitempty"`
	ExtraArgs                 ExtraArgs    `yaml:"extraArgs,omitempty"`
	ExtraMounts               []ExtraMount `yaml:"extraMounts,omitempty"`
	ExtraConfig               Object       `yaml:"extraConfig,omitempty"`
	CredentialProvider        Object       `yaml:"credentialProviderConfig,omitempty" merge:"replace"`
	DefaultSeccompProfile     *bool        `yaml:"defaultRuntimeSeccompProfileEnabled,omitempty"`
	RegisterWithFQDN          *bool        `yaml:"registerWithFQDN,omitempty"`
	NodeIP                    NodeIPConfig `yaml:"nodeIP,omitempty"`
	SkipNodeRegistration      *bool        `yaml:"skipNodeRegistration,omitempty"`
	DisableManifestsDirectory *bool        `yaml:"disableManifestsDirectory,omitempty"`
}

// NodeIPConfig selects the addresses of the Node. A subnet that starts with "!" is excluded.
type NodeIPConfig struct {
	ValidSubnets []string `yaml:"validSubnets,omitempty"`
}

// ExtraMount is an additional mount of the kubelet's container, as in the OCI runtime specification.
type ExtraMount struct {
	Destination string      `yaml:"destination"`
	Type        string      `yaml:"type,omitempty"`
	Source      string      `yaml:"source,omitempty"`
	Options     []string    `yaml:"options,omitempty"`
	UIDMappings []IDMapping `yaml:"uidMappings,omitempty"`
	GIDMappings []IDMapping `yaml:"gidMappings,omitempty"`
}

// IDMapping maps a range of user or group ids into a container.
type IDMapping struct {
	ContainerID uint32 `yaml:"containerID"`
	HostID      uint32 `yaml:"hostID"`
	Size        uint32 `yaml:"size"`
}
