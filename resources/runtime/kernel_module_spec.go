// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kernelModuleSpecDefinition = &resource.Definition{
	Type:             "KernelModuleSpecs.runtime.talos.dev",
	DefaultNamespace: NamespaceName,
}

// KernelModuleSpecSpec is a kernel module to be loaded.
type KernelModuleSpecSpec struct {
	Name       string   `yaml:"name" protobuf:"1"`
	Parameters []string `yaml:"parameters" protobuf:"2"`
}

// Definition implements resource.Spec.
func (KernelModuleSpecSpec) Definition() *resource.Definition { return kernelModuleSpecDefinition }
