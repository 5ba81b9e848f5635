// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kubeletConfigDefinition = &resource.Definition{
	Type:             "KubeletConfigs.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

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
