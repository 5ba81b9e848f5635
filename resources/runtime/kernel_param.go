// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

var kernelParamDefaultSpecDefinition = domain.Type("KernelParamDefaultSpecs")

// KernelParamDefaultSpecSpec is the value of a kernel parameter unless the configuration has another.
type KernelParamDefaultSpecSpec struct {
	Value        string `yaml:"value" protobuf:"1"`
	IgnoreErrors bool   `yaml:"ignoreErrors" protobuf:"2"`
}

// Definition implements resource.Spec.
func (KernelParamDefaultSpecSpec) Definition() *resource.Definition {
	return kernelParamDefaultSpecDefinition
}

var kernelParamSpecDefinition = domain.Type("KernelParamSpecs")

// KernelParamSpecSpec is the wanted value of a kernel parameter. The id is its path with dots: proc.sys.net.ipv4.ip_forward or
// sys.module.name.parameters.x.
type KernelParamSpecSpec struct {
	Value        string `yaml:"value" protobuf:"1"`
	IgnoreErrors bool   `yaml:"ignoreErrors" protobuf:"2"`
}

// Definition implements resource.Spec.
func (KernelParamSpecSpec) Definition() *resource.Definition { return kernelParamSpecDefinition }

var kernelParamStatusDefinition = domain.Alias("sysctls", "kernelparameters", "kernelparams").Type("KernelParamStatuses",
	"Current={.current}", "Default={.default}", "Unsupported={.unsupported}")

// KernelParamStatusSpec is a kernel parameter as it was set.
type KernelParamStatusSpec struct {
	Current     string `yaml:"current" protobuf:"1"`
	Default     string `yaml:"default" protobuf:"2"`
	Unsupported bool   `yaml:"unsupported" protobuf:"3"`
}

// Definition implements resource.Spec.
func (KernelParamStatusSpec) Definition() *resource.Definition { return kernelParamStatusDefinition }
