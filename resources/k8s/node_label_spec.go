// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var nodeLabelSpecDefinition = &resource.Definition{
	Type:             "NodeLabelSpecs.k8s.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Value", JSONPath: "{.value}"},
	},
	Sensitivity: resource.Sensitive,
}

// NodeLabelSpecSpec is a label wanted on the own Node.
type NodeLabelSpecSpec struct {
	Key   string `yaml:"key" protobuf:"1"`
	Value string `yaml:"value" protobuf:"2"`
}

// Definition implements resource.Spec.
func (NodeLabelSpecSpec) Definition() *resource.Definition { return nodeLabelSpecDefinition }
