// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var kernelParamSpecDefinition = &resource.Definition{
	Type:             "KernelParamSpecs.runtime.talos.dev",
	DefaultNamespace: NamespaceName,
}

// KernelParamSpecSpec is a value wanted for a kernel parameter. The id is its path with dots: proc.sys.net.ipv4.ip_forward or
// sys.module.name.parameters.x.
type KernelParamSpecSpec struct {
	Value        string `yaml:"value" protobuf:"1"`
	IgnoreErrors bool   `yaml:"ignoreErrors" protobuf:"2"`
}

// Definition implements resource.Spec.
func (KernelParamSpecSpec) Definition() *resource.Definition { return kernelParamSpecDefinition }
