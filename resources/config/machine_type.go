// SPDX-License-Identifier: Apache-2.0

package config

import (
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/enum"
)

// MachineTypeID is the id of the only MachineType.
const MachineTypeID = "machine-type"

var machineTypeDefinition = domain.Type("MachineTypes", "Type={}")

// MachineType is the role of the machine; the numbers are those of the wire.
type MachineType int32

// The roles.
const (
	TypeUnknown MachineType = iota
	TypeInit
	TypeControlPlane
	TypeWorker
)

var machineTypes = enum.Of[MachineType]("unknown", string(view.TypeInit), string(view.TypeControlPlane), string(view.TypeWorker))

// MachineTypeOf converts the role of the configuration.
func MachineTypeOf(t view.MachineType) MachineType {
	for number, name := range machineTypes {
		if name == string(t) {
			return number
		}
	}

	return TypeUnknown
}

// String returns the name as in the configuration.
func (t MachineType) String() string { return machineTypes.Text(t) }

// MarshalText implements encoding.TextMarshaler.
func (t MachineType) MarshalText() ([]byte, error) { return machineTypes.Marshal(t) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *MachineType) UnmarshalText(text []byte) error {
	return machineTypes.Parse("machine type", text, t)
}

// IsControlPlane reports whether the machine runs the control plane.
func (t MachineType) IsControlPlane() bool { return t == TypeControlPlane || t == TypeInit }

// MachineTypeSpec is the role of the machine; it is printed as the name alone.
type MachineTypeSpec struct {
	MachineType MachineType `protobuf:"1"`
}

// Definition implements resource.Spec.
func (MachineTypeSpec) Definition() *resource.Definition { return machineTypeDefinition }

// MarshalYAML prints the name alone.
func (s MachineTypeSpec) MarshalYAML() (any, error) { return s.MachineType.String(), nil }
