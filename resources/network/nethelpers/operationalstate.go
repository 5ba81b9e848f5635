// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// OperationalState is a link's state of RFC 2863.
type OperationalState uint8

// The operational states.
const (
	OperStateUnknown        OperationalState = 0
	OperStateNotPresent     OperationalState = 1
	OperStateDown           OperationalState = 2
	OperStateLowerLayerDown OperationalState = 3
	OperStateTesting        OperationalState = 4
	OperStateDormant        OperationalState = 5
	OperStateUp             OperationalState = 6
)

var operationalStateNames = enum.Names[OperationalState]{
	OperStateUnknown:        "unknown",
	OperStateNotPresent:     "notPresent",
	OperStateDown:           "down",
	OperStateLowerLayerDown: "lowerLayerDown",
	OperStateTesting:        "testing",
	OperStateDormant:        "dormant",
	OperStateUp:             "up",
}

func (o OperationalState) String() string               { return operationalStateNames.Text(o) }
func (o OperationalState) MarshalText() ([]byte, error) { return operationalStateNames.Marshal(o) }
func (o *OperationalState) UnmarshalText(text []byte) error {
	return operationalStateNames.Parse("operational state", text, o)
}
