// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "fmt"

// MachineType is the role of a machine in its cluster.
type MachineType string

// The roles. Init is the older name for the first control plane machine.
const (
	TypeInit         MachineType = "init"
	TypeControlPlane MachineType = "controlplane"
	TypeWorker       MachineType = "worker"
)

// UnmarshalText parses a role. "join" is an older name of worker.
func (t *MachineType) UnmarshalText(text []byte) error {
	switch v := MachineType(text); v {
	case TypeInit, TypeControlPlane, TypeWorker, "":
		*t = v
	case "join":
		*t = TypeWorker
	default:
		return fmt.Errorf("%q is not a machine type: want controlplane or worker", text)
	}

	return nil
}

func (t MachineType) String() string { return string(t) }

// IsControlPlane reports whether the machine runs the control plane.
func (t MachineType) IsControlPlane() bool { return t == TypeControlPlane || t == TypeInit }
