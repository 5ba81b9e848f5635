// SPDX-License-Identifier: Apache-2.0

package config

import (
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/enum"
)

// MachineTypeID is the id of the only one.
const MachineTypeID = "machine-type"

var machineTypeDefinition = domain.Type("MachineTypes", "Type={}")

// MachineType is the role of the machine; numbers are those of the wire.
type MachineType int32

// The roles.
const (
	TypeUnknown MachineType = iota
	TypeInit
	TypeControlPlane
	TypeWorker
)

var machineTypes = enum.Of[MachineType]("unknown", string(view.TypeInit), string(view.TypeControlPlane), string(view.TypeWorker))

// MachineTypeOf converts the role as the configuration has it.
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

// IsControlPlane tells whether the machine runs the control plane.
func (t MachineType) IsControlPlane() bool { return t == TypeControlPlane || t == TypeInit }

// MachineTypeSpec is the role of the machine; it prints as the bare name.
type MachineTypeSpec struct {
	MachineType MachineType `protobuf:"1"`
}

// Definition implements resource.Spec.
func (MachineTypeSpec) Definition() *resource.Definition { return machineTypeDefinition }

// MarshalYAML prints the bare name.
func (s MachineTypeSpec) MarshalYAML() (any, error) { return s.MachineType.String(), nil }
