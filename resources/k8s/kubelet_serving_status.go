// SPDX-License-Identifier: Apache-2.0

package k8s

import "github.com/seed-59268b81/talos/cosi/resource"

var kubeletServingDefinition = &resource.Definition{
	Type:             "KubeletServingStatuses.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Ready", JSONPath: "{.ready}"},
		{Name: "Reason", JSONPath: "{.reason}"},
	},
}

// KubeletServingStatusSpec says whether the kubelet has a certificate of the cluster to serve with. API servers refuse any other, so
// that without it there are no logs, exec and port-forward of the node's pods.
type KubeletServingStatusSpec struct {
	Ready bool `yaml:"ready" protobuf:"1"`
	// Reason why it is not ready.
	Reason string `yaml:"reason,omitempty" protobuf:"2"`
}

// Definition implements resource.Spec.
func (KubeletServingStatusSpec) Definition() *resource.Definition { return kubeletServingDefinition }
