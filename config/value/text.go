// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"net/netip"
)

// Expression is an expression of the Common Expression Language.
type Expression string

// Format implements Formatted.
func (Expression) Format() Format {
	return Format{About: "a CEL expression", Example: `disk.transport == "nvme"`}
}

// Host is a host by name or address.
type Host string

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Host) UnmarshalText(text []byte) error {
	if _, err := netip.ParseAddr(string(text)); err != nil && !IsDNSName(string(text)) {
		return fmt.Errorf("%q is neither an address nor a DNS name", text)
	}

	*h = Host(text)

	return nil
}

// Format implements Formatted.
func (Host) Format() Format {
	return Format{About: "a name or an address", Example: "time.example.com"}
}
