// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var staticPodDefinition = &resource.Definition{
	Type:             "StaticPods.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

// StaticPodSpec is one pod that the kubelet runs by itself.
type StaticPodSpec struct {
	Pod map[string]any `yaml:"pod" protobuf:"1"`
}

// Definition implements resource.Spec.
func (StaticPodSpec) Definition() *resource.Definition { return staticPodDefinition }

// MarshalYAML prints the object itself.
func (s StaticPodSpec) MarshalYAML() (any, error) { return s.Pod, nil }
