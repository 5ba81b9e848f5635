// SPDX-License-Identifier: Apache-2.0

// Package ip finds the protocol of an IP packet, for the filters of the switch and the router. Other fields are read
// and written with gVisor's package header. Its walk over the extension headers of IPv6 allocates buffers for each
// packet, so it is not used here.
package ip

import "encoding/binary"

// The protocol numbers.
const (
	ICMP   = 1
	TCP    = 6
	UDP    = 17
	ICMPv6 = 58
)

// The extension headers of IPv6 (RFC 8200, section 4).
const (
	hopByHop    = 0
	routing     = 43
	fragment    = 44
	destination = 60
)

// Upper is the protocol that an IP packet carries.
type Upper struct {
	Protocol uint8
	// Offset of its header in the packet.
	Offset int
	// Later marks a fragment other than the first, which has no header at Offset.
	Later bool
}

// Parse returns the protocol of a packet. It returns false for a packet that is neither IPv4 nor IPv6, or that is too
// short.
func Parse(b []byte) (Upper, bool) {
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		size := int(b[0]&15) * 4

		return Upper{Protocol: b[9], Offset: size, Later: binary.BigEndian.Uint16(b[6:])&0x1fff != 0}, size >= 20 && size <= len(b)
	case len(b) >= 40 && b[0]>>4 == 6:
		return parse6(b)
	}

	return Upper{}, false
}

func parse6(b []byte) (Upper, bool) {
	u := Upper{Protocol: b[6], Offset: 40}

	for {
		switch u.Protocol {
		case hopByHop, routing, fragment, destination:
		default:
			return u, true
		}

		if len(b) < u.Offset+8 {
			return Upper{}, false
		}

		header := b[u.Offset:]
		size := 8

		if u.Protocol == fragment {
			u.Later = binary.BigEndian.Uint16(header[2:])&^7 != 0
		} else {
			size += int(header[1]) * 8
		}

		u.Protocol, u.Offset = header[0], u.Offset+size

		if u.Later || u.Offset > len(b) {
			return u, u.Offset <= len(b)
		}
	}
}

// IsUDP reports whether a packet carries UDP, or a fragment of it.
func IsUDP(b []byte) bool {
	u, ok := Parse(b)

	return ok && u.Protocol == UDP
}
