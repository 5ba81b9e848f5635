// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kubeletSpecDefinition = &resource.Definition{
	Type:             "KubeletSpecs.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

// KubeletSpecSpec is the kubelet as it is to run: image, arguments, KubeletConfiguration.
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
