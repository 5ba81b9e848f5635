// SPDX-License-Identifier: Apache-2.0

package k8s

import "github.com/seed-59268b81/talos/cosi/resource"

var kubeletConfigDefinition = domain.Sensitive().Type("KubeletConfigs")

// KubeletConfigSpec is the kubelet's settings.
type KubeletConfigSpec struct {
	Image                        string               `yaml:"image" protobuf:"1"`
	ClusterDNS                   []string             `yaml:"clusterDNS" protobuf:"2"`
	ClusterDomain                string               `yaml:"clusterDomain" protobuf:"3"`
	ExtraMounts                  []Mount              `yaml:"extraMounts,omitempty" protobuf:"5"`
	ExtraConfig                  map[string]any       `yaml:"extraConfig,omitempty" protobuf:"6"`
	CloudProviderExternal        bool                 `yaml:"cloudProviderExternal" protobuf:"7"`
	DefaultRuntimeSeccompEnabled bool                 `yaml:"defaultRuntimeSeccompEnabled" protobuf:"8"`
	SkipNodeRegistration         bool                 `yaml:"skipNodeRegistration" protobuf:"9"`
	StaticPodListURL             string               `yaml:"staticPodListURL" protobuf:"10"`
	DisableManifestsDirectory    bool                 `yaml:"disableManifestsDirectory" protobuf:"11"`
	EnableFSQuotaMonitoring      bool                 `yaml:"enableFSQuotaMonitoring" protobuf:"12"`
	CredentialProviderConfig     map[string]any       `yaml:"credentialProviderConfig,omitempty" protobuf:"13"`
	ExtraArgs                    map[string]ArgValues `yaml:"extraArgs,omitempty" protobuf:"15"`
	RegisterWithTaints           map[string]string    `yaml:"registerWithTaints,omitempty" protobuf:"16"`
}

// Definition implements resource.Spec.
func (KubeletConfigSpec) Definition() *resource.Definition { return kubeletConfigDefinition }

var kubeletSpecDefinition = domain.Sensitive().Type("KubeletSpecs")

// KubeletSpecSpec is how the kubelet runs: image, arguments, KubeletConfiguration.
type KubeletSpecSpec struct {
	Image                    string         `yaml:"image" protobuf:"1"`
	Args                     []string       `yaml:"args" protobuf:"2"`
	ExtraMounts              []Mount        `yaml:"extraMounts,omitempty" protobuf:"3"`
	ExpectedNodename         string         `yaml:"expectedNodename,omitempty" protobuf:"4"`
	Config                   map[string]any `yaml:"config" protobuf:"5"`
	CredentialProviderConfig map[string]any `yaml:"credentialProviderConfig,omitempty" protobuf:"6"`
}

// Definition implements resource.Spec.
func (KubeletSpecSpec) Definition() *resource.Definition { return kubeletSpecDefinition }

// Mount is a mount of a container, as in the OCI runtime specification.
type Mount struct {
	Destination string      `yaml:"destination"           protobuf:"1"`
	Type        string      `yaml:"type,omitempty"        protobuf:"2"`
	Source      string      `yaml:"source,omitempty"      protobuf:"3"`
	Options     []string    `yaml:"options,omitempty"     protobuf:"4"`
	UIDMappings []IDMapping `yaml:"uidMappings,omitempty" protobuf:"5"`
	GIDMappings []IDMapping `yaml:"gidMappings,omitempty" protobuf:"6"`
}

// IDMapping maps a range of user or group ids of a container to the host's.
type IDMapping struct {
	ContainerID uint32 `yaml:"containerID" protobuf:"1"`
	HostID      uint32 `yaml:"hostID"      protobuf:"2"`
	Size        uint32 `yaml:"size"        protobuf:"3"`
}

var kubeletStatusDefinition = domain.Type("KubeletStatuses", "Image={.image}")

// KubeletStatusSpec is the running kubelet.
type KubeletStatusSpec struct {
	Image string `yaml:"image" protobuf:"1"`
}

// Definition implements resource.Spec.
func (KubeletStatusSpec) Definition() *resource.Definition { return kubeletStatusDefinition }

var kubeletKubeconfigDefinition = domain.Type("KubeletKubeconfigs", "Hash={.hash}")

// KubeletKubeconfigSpec exists once the kubelet has its own kubeconfig.
type KubeletKubeconfigSpec struct {
	Hash string `yaml:"hash" protobuf:"1"`
}

// Definition implements resource.Spec.
func (KubeletKubeconfigSpec) Definition() *resource.Definition { return kubeletKubeconfigDefinition }
