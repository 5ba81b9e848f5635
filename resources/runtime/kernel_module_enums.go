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

// String is the name of the type.
func (t KernelModuleType) String() string { return kernelModuleTypes.Text(t) }

// MarshalText implements encoding.TextMarshaler.
func (t KernelModuleType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *KernelModuleType) UnmarshalText(text []byte) error {
	return kernelModuleTypes.Parse("type of a kernel module", text, t)
}

// String is the name of the state.
func (s KernelModuleState) String() string { return kernelModuleStates.Text(s) }

// MarshalText implements encoding.TextMarshaler.
func (s KernelModuleState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *KernelModuleState) UnmarshalText(text []byte) error {
	return kernelModuleStates.Parse("state of a kernel module", text, s)
}
