// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

var metaKeyDefinition = &resource.Definition{
	Type:             "MetaKeys.runtime.talos.dev",
	DefaultNamespace: NamespaceName,
	Aliases:          []string{"meta"},
	PrintColumns:     []resource.PrintColumn{{Name: "Value", JSONPath: "{.value}"}},
}

// MetaKeySpec is a value of the META partition; its id is the tag: 0x0a.
type MetaKeySpec struct {
	Value string `yaml:"value" protobuf:"1"`
}

// Definition implements resource.Spec.
func (MetaKeySpec) Definition() *resource.Definition { return metaKeyDefinition }
