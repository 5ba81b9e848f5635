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

// String implements fmt.Stringer.
func (d Duplex) String() string { return duplexNames.Text(d) }

// MarshalText implements encoding.TextMarshaler.
func (d Duplex) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duplex) UnmarshalText(text []byte) error { return duplexNames.Parse("duplex", text, d) }
