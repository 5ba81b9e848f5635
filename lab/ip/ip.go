// SPDX-License-Identifier: Apache-2.0

// Package ip finds out what an IP packet carries, for the switch and the router
// that let some protocols through and others not. The headers themselves are
// read and written with gVisor's package header, whose walk over the extension
// headers of IPv6 wants buffers of its own for each packet.
package ip

import "encoding/binary"

// The protocols that are asked for.
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

// Upper is what an IP packet carries above IP.
type Upper struct {
	Protocol uint8
	// Offset in the packet where it begins.
	Offset int
	// Later tells that the packet is a fragment other than the first: what is at
	// Offset is not the beginning.
	Later bool
}

// Parse returns what a packet carries. It reports false for what is neither
// IPv4 nor IPv6 or ends before that is known.
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
