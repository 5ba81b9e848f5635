// SPDX-License-Identifier: Apache-2.0

package nethelpers

// Duplex tells whether both sides of a link may send at once.
type Duplex uint8

// The duplexs.
const (
	DuplexHalf    Duplex = 0
	DuplexFull    Duplex = 1
	DuplexUnknown Duplex = 255
)

var duplexNames = names[Duplex]{
	DuplexHalf:    "Half",
	DuplexFull:    "Full",
	DuplexUnknown: "Unknown",
}

// String implements fmt.Stringer.
func (d Duplex) String() string { return duplexNames.text(d) }

// MarshalText implements encoding.TextMarshaler.
func (d Duplex) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duplex) UnmarshalText(text []byte) error { return duplexNames.parse("duplex", text, d) }
