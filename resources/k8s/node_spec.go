// SPDX-License-Identifier: Apache-2.0

package k8s

import "github.com/seed-59268b81/talos/cosi/resource"

var nodeLabelSpecDefinition = nodeSpecs.Type("NodeLabelSpecs", "Value={.value}")

// NodeLabelSpecSpec is a label that the own Node should have.
type NodeLabelSpecSpec struct {
	Key   string `yaml:"key" protobuf:"1"`
	Value string `yaml:"value" protobuf:"2"`
}

// Definition implements resource.Spec.
func (NodeLabelSpecSpec) Definition() *resource.Definition { return nodeLabelSpecDefinition }

var nodeAnnotationSpecDefinition = nodeSpecs.Type("NodeAnnotationSpecs", "Value={.value}")

// NodeAnnotationSpecSpec is an annotation that the own Node should have.
type NodeAnnotationSpecSpec struct {
	Key   string `yaml:"key" protobuf:"1"`
	Value string `yaml:"value" protobuf:"2"`
}

// Definition implements resource.Spec.
func (NodeAnnotationSpecSpec) Definition() *resource.Definition { return nodeAnnotationSpecDefinition }

var nodeTaintSpecDefinition = nodeSpecs.Type("NodeTaintSpecs", "Effect={.effect}", "Value={.value}")

// NodeTaintSpecSpec is a taint that the own Node should have.
type NodeTaintSpecSpec struct {
	Key    string `yaml:"key" protobuf:"1"`
	Effect string `yaml:"effect" protobuf:"2"`
	Value  string `yaml:"value" protobuf:"3"`
}

// Definition implements resource.Spec.
func (NodeTaintSpecSpec) Definition() *resource.Definition { return nodeTaintSpecDefinition }

var nodeCordonedSpecDefinition = nodeSpecs.Type("NodeCordonedSpecs")

// NodeCordonedSpecSpec exists while the own Node should be unschedulable.
type NodeCordonedSpecSpec struct{}

// Definition implements resource.Spec.
func (NodeCordonedSpecSpec) Definition() *resource.Definition { return nodeCordonedSpecDefinition }
