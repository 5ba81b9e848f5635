// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kubeletStatusDefinition = &resource.Definition{
	Type:             "KubeletStatuses.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Image", JSONPath: "{.image}"},
	},
}

// KubeletStatusSpec is the kubelet that runs.
type KubeletStatusSpec struct {
	Image string `yaml:"image" protobuf:"1"`
}

// Definition implements resource.Spec.
func (KubeletStatusSpec) Definition() *resource.Definition { return kubeletStatusDefinition }
