// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kernelModuleStatusDefinition = &resource.Definition{
	Type:             "KernelModuleStatuses.runtime.talos.dev",
	DefaultNamespace: NamespaceName,
	Aliases:          []string{"module", "modules"},
	PrintColumns: []resource.PrintColumn{
		{Name: "Type", JSONPath: "{.type}"},
		{Name: "State", JSONPath: "{.state}"},
		{Name: "Size", JSONPath: "{.size}"},
		{Name: "Reference Count", JSONPath: "{.referenceCount}"},
		{Name: "Dependencies", JSONPath: "{.dependencies}"},
	},
}

// KernelModuleStatusSpec is a kernel module that is built in or loaded.
type KernelModuleStatusSpec struct {
	Type           KernelModuleType  `yaml:"type" protobuf:"1"`
	Size           int               `yaml:"size" protobuf:"2"`
	ReferenceCount int               `yaml:"referenceCount" protobuf:"3"`
	Dependencies   []string          `yaml:"dependencies" protobuf:"4"`
	State          KernelModuleState `yaml:"state" protobuf:"5"`
	Address        string            `yaml:"address" protobuf:"6"`
}

// Definition implements resource.Spec.
func (KernelModuleStatusSpec) Definition() *resource.Definition { return kernelModuleStatusDefinition }
