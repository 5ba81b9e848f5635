// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

// PlatformDisks is the id of the condition of a machine without disks of its own.
const PlatformDisks = "disks"

var platformConditionDefinition = &resource.Definition{
	Type:             "PlatformConditions.runtime.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Applied", JSONPath: "{.applied}"},
		{Name: "Reason", JSONPath: "{.reason}"},
		{Name: "Message", JSONPath: "{.message}"},
	},
}

// PlatformConditionSpec tells of one facility of the computer, which its id names, that the machine does not own where it
// runs, and what is not applied for that. A machine that owns all has none.
type PlatformConditionSpec struct {
	Applied bool   `yaml:"applied" protobuf:"1"`
	Reason  string `yaml:"reason"  protobuf:"2"`
	Message string `yaml:"message" protobuf:"3"`
}

// Definition implements resource.Spec.
func (PlatformConditionSpec) Definition() *resource.Definition { return platformConditionDefinition }
