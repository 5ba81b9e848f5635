// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"net"
	"strings"
)

// maxLinkName is the length of the longest name of a link, in bytes: IFNAMSIZ without the byte at its end.
const maxLinkName = 15

// LinkName is the name of a network link, such as eth0, or an alias of one.
type LinkName string

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *LinkName) UnmarshalText(text []byte) error {
	if name := string(text); name != "" {
		if len(name) > maxLinkName || name == "." || name == ".." || strings.ContainsAny(name, "/: \t\r\n\v\f") {
			return fmt.Errorf("%q is not the name of a link: want 1 to %d bytes without spaces, / and :", text, maxLinkName)
		}
	}

	*n = LinkName(text)

	return nil
}

// Format implements Formatted.
func (LinkName) Format() Format {
	return Format{About: "the name of a link", Example: "eth0", Pattern: `^[^/:\s]{1,15}$`}
}

// HardwareAddr is the hardware address of a link: 6 bytes, or 8 or 20 on other networks than Ethernet.
type HardwareAddr net.HardwareAddr

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *HardwareAddr) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*a = nil

		return nil
	}

	addr, err := net.ParseMAC(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a hardware address: want one such as 02:00:5e:10:00:01", text)
	}

	*a = HardwareAddr(addr)

	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (a HardwareAddr) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

func (a HardwareAddr) String() string { return net.HardwareAddr(a).String() }

// Format implements Formatted.
func (HardwareAddr) Format() Format {
	return Format{About: "a hardware address", Example: "02:00:5e:10:00:01"}
}
