// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var staticPodStatusDefinition = &resource.Definition{
	Type:             "StaticPodStatuses.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
	Aliases:          []string{"podstatus"},
	PrintColumns: []resource.PrintColumn{
		{Name: "Ready", JSONPath: `{.conditions[?(@.type=="Ready")].status}`},
	},
}

// StaticPodStatusSpec is the status of a static pod as the kubelet reports it.
type StaticPodStatusSpec struct {
	PodStatus map[string]any `yaml:"podStatus" protobuf:"1"`
}

// Definition implements resource.Spec.
func (StaticPodStatusSpec) Definition() *resource.Definition { return staticPodStatusDefinition }

// MarshalYAML prints the object itself.
func (s StaticPodStatusSpec) MarshalYAML() (any, error) { return s.PodStatus, nil }
