// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"net/netip"
	"strings"
)

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

// SAN is a name or an address in a certificate. A name may begin with "*." for all names below a domain.
type SAN string

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *SAN) UnmarshalText(text []byte) error {
	if name, wildcard := strings.CutPrefix(string(text), "*."); wildcard && IsDNSName(name) {
		*s = SAN(text)

		return nil
	}

	var host Host

	err := host.UnmarshalText(text)
	*s = SAN(host)

	return err
}

// Format implements Formatted.
func (SAN) Format() Format {
	return Format{About: "a name, with or without *. in front, or an address", Example: "api.example.com"}
}
