// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var nodeTaintSpecDefinition = &resource.Definition{
	Type:             "NodeTaintSpecs.k8s.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Effect", JSONPath: "{.effect}"},
		{Name: "Value", JSONPath: "{.value}"},
	},
	Sensitivity: resource.Sensitive,
}

// NodeTaintSpecSpec is a taint wanted on the own Node.
type NodeTaintSpecSpec struct {
	Key    string `yaml:"key" protobuf:"1"`
	Effect string `yaml:"effect" protobuf:"2"`
	Value  string `yaml:"value" protobuf:"3"`
}

// Definition implements resource.Spec.
func (NodeTaintSpecSpec) Definition() *resource.Definition { return nodeTaintSpecDefinition }
