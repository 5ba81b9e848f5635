// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/resources/enum"

// KernelModuleType tells how a module came into the kernel.
type KernelModuleType uint8

// The types.
const (
	KernelModuleTypeUnknown KernelModuleType = iota
	KernelModuleTypeBuiltin
	KernelModuleTypeDynamic
)

// KernelModuleState is the life of a module.
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
