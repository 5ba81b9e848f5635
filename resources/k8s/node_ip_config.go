// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var nodeIPConfigDefinition = &resource.Definition{
	Type:             "NodeIPConfigs.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
}

// NodeIPConfigSpec is the rules by which the node's addresses are chosen.
type NodeIPConfigSpec struct {
	ValidSubnets   []string `yaml:"validSubnets,omitempty" protobuf:"1"`
	ExcludeSubnets []string `yaml:"excludeSubnets" protobuf:"2"`
}

// Definition implements resource.Spec.
func (NodeIPConfigSpec) Definition() *resource.Definition { return nodeIPConfigDefinition }
