// SPDX-License-Identifier: Apache-2.0

package router

import (
	"encoding/binary"
	"net/netip"

	"github.com/seed-59268b81/talos/lab/ip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// error6 sends an ICMPv6 error about a packet, except about the packets that never get one (RFC 4443, section 2.4).
func (c *Core) error6(p *packet, kind header.ICMPv6Type, code header.ICMPv6Code, rest uint32) {
	to, about := addresses6(p.sent)

	u, ok := ip.Parse(p.sent)
	if !ok || u.Protocol == ip.ICMPv6 && (u.Later || isError6(p.sent[u.Offset:])) {
		return
	}

	if to.IsUnspecified() || to.IsMulticast() || about.IsMulticast() {
		return
	}

	quote := p.sent[:min(len(p.sent), sentLimit6)]
	frame := c.frame(header.IPv6MinimumSize + header.ICMPv6MinimumSize + len(quote))
	message := header.ICMPv6(frame[etherLen+header.IPv6MinimumSize:])
	clear(message[:header.ICMPv6MinimumSize])
	message.SetType(kind)
	message.SetCode(code)
	binary.BigEndian.PutUint32(message[4:], rest)
	copy(message[header.ICMPv6MinimumSize:], quote)

	from := c.address6(p.in, to)
	if c.own[about] != nil {
		from = about
	}

	c.send6(p.in, frame, from, to)
}

// isError6 reports whether an ICMPv6 message is an error or a redirect.
func isError6(message []byte) bool {
	return len(message) == 0 || message[0] < 128 || header.ICMPv6Type(message[0]) == header.ICMPv6RedirectMsg
}

// address6 returns the router's address for packets to a host that sent one to a leg.
func (c *Core) address6(l *leg, to netip.Addr) netip.Addr {
	if !to.IsLinkLocalUnicast() {
		for _, a := range l.Addresses {
			if a.Addr().Is6() && !a.Addr().IsLinkLocalUnicast() {
				return a.Addr()
			}
		}
	}

	return l.linkLocal
}

// echo6 answers an echo request.
func (c *Core) echo6(l *leg, request header.ICMPv6, from, to netip.Addr) {
	if to.IsMulticast() {
		to = c.address6(l, from)
	}

	frame := c.frame(header.IPv6MinimumSize + len(request))
	copy(frame[etherLen+header.IPv6MinimumSize:], request)
	header.ICMPv6(frame[etherLen+header.IPv6MinimumSize:]).SetType(header.ICMPv6EchoReply)
	c.send6(l, frame, to, from)
}

// send6 sends an ICMPv6 message of the router, in a frame with room for the headers. A link-local destination is on leg
// l.
func (c *Core) send6(l *leg, frame []byte, from, to netip.Addr) {
	r, ok := route{leg: l}, true
	if !to.IsLinkLocalUnicast() {
		r, ok = c.route(to)
	}

	if !ok || len(frame)-etherLen > r.leg.MTU {
		return
	}

	writeHeader6(frame, from, to, ownTTL)
	c.leave6(r, &packet{frame: frame})
}

// writeHeader6 writes the IPv6 header before an ICMPv6 message, and the message's checksum.
func writeHeader6(frame []byte, from, to netip.Addr, hopLimit uint8) {
	h := header.IPv6(frame[etherLen:])
	message := header.ICMPv6(h[header.IPv6MinimumSize:])

	h.Encode(&header.IPv6Fields{
		PayloadLength:     uint16(len(message)),
		TransportProtocol: header.ICMPv6ProtocolNumber,
		HopLimit:          hopLimit,
		SrcAddr:           tcpip.AddrFrom16(from.As16()),
		DstAddr:           tcpip.AddrFrom16(to.As16()),
	})

	message.SetChecksum(0)
	message.SetChecksum(^sum6(message, from, to))
}

// sum6 returns the sum over an ICMPv6 message and its pseudo header.
func sum6(message []byte, from, to netip.Addr) uint16 {
	pseudo := header.PseudoHeaderChecksum(header.ICMPv6ProtocolNumber,
		tcpip.AddrFrom16(from.As16()), tcpip.AddrFrom16(to.As16()), uint16(len(message)))

	return checksum.Checksum(message, pseudo)
}
