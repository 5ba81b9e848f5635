// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var loadedKernelModuleDefinition = &resource.Definition{
	Type:             "LoadedKernelModules.runtime.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "State", JSONPath: "{.state}"},
		{Name: "Size", JSONPath: "{.size}"},
		{Name: "Reference Count", JSONPath: "{.referenceCount}"},
		{Name: "Dependencies", JSONPath: "{.dependencies}"},
	},
}

// LoadedKernelModuleSpec is a kernel module that is loaded; KernelModuleStatus says more.
type LoadedKernelModuleSpec struct {
	Size           int      `yaml:"size" protobuf:"1"`
	ReferenceCount int      `yaml:"referenceCount" protobuf:"2"`
	Dependencies   []string `yaml:"dependencies" protobuf:"3"`
	State          string   `yaml:"state" protobuf:"4"`
	Address        string   `yaml:"address" protobuf:"5"`
}

// Definition implements resource.Spec.
func (LoadedKernelModuleSpec) Definition() *resource.Definition { return loadedKernelModuleDefinition }
