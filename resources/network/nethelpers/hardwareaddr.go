// SPDX-License-Identifier: Apache-2.0

package nethelpers

import (
	"fmt"
	"net"
)

// HardwareAddr is a link-layer address of any length; an empty one prints as an empty text.
type HardwareAddr []byte

// String prints the address as bytes in hexadecimal with colons.
func (h HardwareAddr) String() string { return net.HardwareAddr(h).String() }

// MarshalText implements encoding.TextMarshaler.
func (h HardwareAddr) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *HardwareAddr) UnmarshalText(text []byte) error {
	*h = nil

	if len(text) == 0 {
		return nil
	}

	addr, err := net.ParseMAC(string(text))
	if err != nil {
		return fmt.Errorf("hardware address: %w", err)
	}

	*h = HardwareAddr(addr)

	return nil
}
