// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// Port is the socket of a network card.
type Port uint8

// The ports.
const (
	PortTwistedPair  Port = 0
	PortAUI          Port = 1
	PortMII          Port = 2
	PortFibre        Port = 3
	PortBNC          Port = 4
	PortDirectAttach Port = 5
	PortNone         Port = 239
	PortOther        Port = 255
)

var portNames = enum.Names[Port]{
	PortTwistedPair:  "TwistedPair",
	PortAUI:          "AUI",
	PortMII:          "MII",
	PortFibre:        "Fibre",
	PortBNC:          "BNC",
	PortDirectAttach: "DirectAttach",
	PortNone:         "None",
	PortOther:        "Other",
}

func (p Port) String() string                   { return portNames.Text(p) }
func (p Port) MarshalText() ([]byte, error)     { return portNames.Marshal(p) }
func (p *Port) UnmarshalText(text []byte) error { return portNames.Parse("port", text, p) }
