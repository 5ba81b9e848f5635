// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kernelParamDefaultSpecDefinition = &resource.Definition{
	Type:             "KernelParamDefaultSpecs.runtime.talos.dev",
	DefaultNamespace: NamespaceName,
}

// KernelParamDefaultSpecSpec is the value that the system gives to a kernel parameter unless the configuration gives another.
type KernelParamDefaultSpecSpec struct {
	Value        string `yaml:"value" protobuf:"1"`
	IgnoreErrors bool   `yaml:"ignoreErrors" protobuf:"2"`
}

// Definition implements resource.Spec.
func (KernelParamDefaultSpecSpec) Definition() *resource.Definition {
	return kernelParamDefaultSpecDefinition
}
