// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// Endpoint is a host, by name or address, and a port.
type Endpoint string

// UnmarshalText implements encoding.TextUnmarshaler.
func (e *Endpoint) UnmarshalText(text []byte) error {
	if len(text) > 0 {
		host, port, err := net.SplitHostPort(string(text))
		if err != nil {
			return fmt.Errorf("%q is not an endpoint: want HOST:PORT", text)
		}

		if _, err := netip.ParseAddr(host); err != nil && !IsDNSName(host) {
			return fmt.Errorf("%q is not an endpoint: %q is neither an address nor a DNS name", text, host)
		}

		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("%q is not an endpoint: port %q is not between 1 and 65535", text, port)
		}
	}

	*e = Endpoint(text)

	return nil
}

// Format implements Formatted.
func (Endpoint) Format() Format {
	return Format{About: "a host and a port", Example: "registry.example.com:443"}
}
