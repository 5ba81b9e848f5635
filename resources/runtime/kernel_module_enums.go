// SPDX-License-Identifier: Apache-2.0

package runtime

import "fmt"

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
	kernelModuleTypes  = []string{"unknown", "builtin", "dynamic"}
	kernelModuleStates = []string{"live", "loading", "unloading", "builtin"}
)

// String is the name of the type.
func (t KernelModuleType) String() string { return word(kernelModuleTypes, uint8(t)) }

// MarshalText implements encoding.TextMarshaler.
func (t KernelModuleType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *KernelModuleType) UnmarshalText(text []byte) error {
	return parseWord(kernelModuleTypes, text, (*uint8)(t))
}

// String is the name of the state.
func (s KernelModuleState) String() string { return word(kernelModuleStates, uint8(s)) }

// MarshalText implements encoding.TextMarshaler.
func (s KernelModuleState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *KernelModuleState) UnmarshalText(text []byte) error {
	return parseWord(kernelModuleStates, text, (*uint8)(s))
}

func word(words []string, n uint8) string {
	if int(n) < len(words) {
		return words[n]
	}

	return fmt.Sprint(n)
}

func parseWord(words []string, text []byte, n *uint8) error {
	for i, w := range words {
		if w == string(text) {
			*n = uint8(i)

			return nil
		}
	}

	return fmt.Errorf("unknown word %q: want one of %v", text, words)
}
