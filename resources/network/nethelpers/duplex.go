// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// Duplex tells whether both sides of a link may send at once.
type Duplex uint8

// The duplexs.
const (
	DuplexHalf    Duplex = 0
	DuplexFull    Duplex = 1
	DuplexUnknown Duplex = 255
)

var duplexNames = enum.Names[Duplex]{
	DuplexHalf:    "Half",
	DuplexFull:    "Full",
	DuplexUnknown: "Unknown",
}

func (d Duplex) String() string                   { return duplexNames.Text(d) }
func (d Duplex) MarshalText() ([]byte, error)     { return duplexNames.Marshal(d) }
func (d *Duplex) UnmarshalText(text []byte) error { return duplexNames.Parse("duplex", text, d) }
