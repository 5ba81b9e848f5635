// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/enum"
)

var kernelModuleSpecDefinition = domain.Type("KernelModuleSpecs")

// KernelModuleSpecSpec is a kernel module to be loaded.
type KernelModuleSpecSpec struct {
	Name       string   `yaml:"name" protobuf:"1"`
	Parameters []string `yaml:"parameters" protobuf:"2"`
}

// Definition implements resource.Spec.
func (KernelModuleSpecSpec) Definition() *resource.Definition { return kernelModuleSpecDefinition }

var kernelModuleStatusDefinition = domain.Alias("module", "modules").Type("KernelModuleStatuses",
	"Type={.type}", "State={.state}", "Size={.size}", "Reference Count={.referenceCount}", "Dependencies={.dependencies}")

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

var loadedKernelModuleDefinition = domain.Type("LoadedKernelModules",
	"State={.state}", "Size={.size}", "Reference Count={.referenceCount}", "Dependencies={.dependencies}")

// LoadedKernelModuleSpec is a loaded kernel module; KernelModuleStatus has more details.
type LoadedKernelModuleSpec struct {
	Size           int      `yaml:"size" protobuf:"1"`
	ReferenceCount int      `yaml:"referenceCount" protobuf:"2"`
	Dependencies   []string `yaml:"dependencies" protobuf:"3"`
	State          string   `yaml:"state" protobuf:"4"`
	Address        string   `yaml:"address" protobuf:"5"`
}

// Definition implements resource.Spec.
func (LoadedKernelModuleSpec) Definition() *resource.Definition { return loadedKernelModuleDefinition }

// KernelModuleType is how a module became a part of the kernel.
type KernelModuleType uint8

// The types.
const (
	KernelModuleTypeUnknown KernelModuleType = iota
	KernelModuleTypeBuiltin
	KernelModuleTypeDynamic
)

// KernelModuleState is the state of a module.
type KernelModuleState uint8

// The states.
const (
	KernelModuleLive KernelModuleState = iota
	KernelModuleLoading
	KernelModuleUnloading
	KernelModuleBuiltin
)

var (
	kernelModuleTypes  = enum.Of[KernelModuleType]("unknown", "builtin", "dynamic")
	kernelModuleStates = enum.Of[KernelModuleState]("live", "loading", "unloading", "builtin")
)

func (t KernelModuleType) String() string               { return kernelModuleTypes.Text(t) }
func (t KernelModuleType) MarshalText() ([]byte, error) { return kernelModuleTypes.Marshal(t) }
func (t *KernelModuleType) UnmarshalText(text []byte) error {
	return kernelModuleTypes.Parse("type of a kernel module", text, t)
}

func (s KernelModuleState) String() string               { return kernelModuleStates.Text(s) }
func (s KernelModuleState) MarshalText() ([]byte, error) { return kernelModuleStates.Marshal(s) }
func (s *KernelModuleState) UnmarshalText(text []byte) error {
	return kernelModuleStates.Parse("state of a kernel module", text, s)
}
