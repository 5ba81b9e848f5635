// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var nodeAnnotationSpecDefinition = &resource.Definition{
	Type:             "NodeAnnotationSpecs.k8s.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Value", JSONPath: "{.value}"},
	},
	Sensitivity: resource.Sensitive,
}

// NodeAnnotationSpecSpec is an annotation wanted on the own Node.
type NodeAnnotationSpecSpec struct {
	Key   string `yaml:"key" protobuf:"1"`
	Value string `yaml:"value" protobuf:"2"`
}

// Definition implements resource.Spec.
func (NodeAnnotationSpecSpec) Definition() *resource.Definition { return nodeAnnotationSpecDefinition }
