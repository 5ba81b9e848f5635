// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kernelParamStatusDefinition = &resource.Definition{
	Type:             "KernelParamStatuses.runtime.talos.dev",
	DefaultNamespace: NamespaceName,
	Aliases:          []string{"sysctls", "kernelparameters", "kernelparams"},
	PrintColumns: []resource.PrintColumn{
		{Name: "Current", JSONPath: "{.current}"},
		{Name: "Default", JSONPath: "{.default}"},
		{Name: "Unsupported", JSONPath: "{.unsupported}"},
	},
}

// KernelParamStatusSpec is a kernel parameter as it was set.
type KernelParamStatusSpec struct {
	Current     string `yaml:"current" protobuf:"1"`
	Default     string `yaml:"default" protobuf:"2"`
	Unsupported bool   `yaml:"unsupported" protobuf:"3"`
}

// Definition implements resource.Spec.
func (KernelParamStatusSpec) Definition() *resource.Definition { return kernelParamStatusDefinition }
