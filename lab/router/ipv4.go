// SPDX-License-Identifier: Apache-2.0

package router

import (
	"net/netip"

	"github.com/seed-59268b81/talos/lab/ip"
	"github.com/seed-59268b81/talos/lab/nat"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// longest4 is the length of the longest IPv4 packet.
const longest4 = 1<<16 - 1

// receive4 handles an IPv4 packet from a leg.
func (c *Core) receive4(l *leg, b []byte, group bool) {
	h := header.IPv4(b)
	// A fragment that ends beyond the longest packet is invalid: fragmented again, a part of it would have offset zero.
	if !h.IsValid(len(b)) || !h.IsChecksumValid() || int(h.FragmentOffset())+int(h.TotalLength()) > longest4 {
		c.drop("malformed")

		return
	}

	b = b[:h.TotalLength()]
	p := &packet{in: l, frame: c.frame(len(b)), sent: b}
	copy(p.ip(), b)

	from, to := addresses4(b)

	switch {
	case group || to.IsMulticast() || c.isBroadcast(to):
		// Only the gateway has services for multicast and broadcast.
		return
	case !from.IsGlobalUnicast() && !from.IsLinkLocalUnicast() || !to.IsGlobalUnicast() && !to.IsLinkLocalUnicast() || c.isBroadcast(from):
		c.drop("bad address")
	case l.BlockUDP && h.Protocol() == ip.UDP && c.own[to] != l:
		c.drop("UDP blocked")
	case l.table != nil:
		c.enter4(l, p, to)
	case c.own[to] != nil:
		c.self4(l, p, to)
	default:
		c.forward4(p)
	}
}

func addresses4(b []byte) (from, to netip.Addr) {
	h := header.IPv4(b)

	return netip.AddrFrom4([4]byte(h.SourceAddressSlice())), netip.AddrFrom4([4]byte(h.DestinationAddressSlice()))
}

// isBroadcast reports whether a is the broadcast address of the link or of one of the router's subnets.
func (c *Core) isBroadcast(a netip.Addr) bool {
	if a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return true
	}

	for _, r := range c.routes {
		if r.to.Addr().Is4() && !r.gateway.IsValid() && r.to.Bits() < 31 && r.to.Contains(a) && (a == r.to.Addr() || !r.to.Contains(a.Next())) {
			return true
		}
	}

	return false
}

// enter4 handles a packet from outside a leg's NAT. It reaches only the leg's own addresses, or what the NAT translates
// it to.
func (c *Core) enter4(l *leg, p *packet, to netip.Addr) {
	if to != l.table.External() {
		if l.owns(to) {
			c.local4(p)
		} else {
			c.drop("NAT: not the external address")
		}

		return
	}

	// UDP that the NAT accepts crosses the router.
	if l.BlockUDP && header.IPv4(p.ip()).Protocol() == ip.UDP {
		c.drop("UDP blocked")

		return
	}

	switch v := l.table.Translate(nat.Inbound, p.ip(), c.now); {
	case v == nat.Local:
		c.local4(p)
	case v.Dropped():
		c.drop("NAT: " + v.String())
	default:
		c.forward4(p)
	}
}

// self4 handles a packet for one of the router's addresses. A packet for the external address of a NAT comes from its
// inside, and is hairpinned.
func (c *Core) self4(in *leg, p *packet, to netip.Addr) {
	outside := c.own[to]
	if outside == in || outside.table == nil || outside.table.External() != to {
		c.local4(p)

		return
	}

	switch v := outside.table.Translate(nat.Outbound, p.ip(), c.now); {
	case v == nat.Local:
		c.local4(p)
	case v.Dropped():
		c.drop("NAT: " + v.String())
	default:
		c.forward4(p)
	}
}

// forward4 forwards a packet.
func (c *Core) forward4(p *packet) {
	h := header.IPv4(p.ip())
	from, to := addresses4(h)

	if from.IsLinkLocalUnicast() || to.IsLinkLocalUnicast() || c.own[to] != nil { // RFC 3927, section 7
		c.drop("bad address")

		return
	}

	r, ok := c.way(p, to, h.TTL(), h.Flags()&header.IPv4FlagDontFragment == 0)
	if !ok {
		return
	}

	if r.leg.table != nil && r.leg != p.in {
		if v := r.leg.table.Translate(nat.Outbound, h, c.now); v != nat.Pass {
			c.drop("NAT: " + v.String())

			return
		}
	}

	decrementTTL(h)

	c.forwarded++
	c.leave4(r, p)
}

// way returns the route of a packet that may be forwarded. It drops other packets and sends ICMP errors about them.
func (c *Core) way(p *packet, to netip.Addr, hops uint8, mayFragment bool) (route, bool) {
	if hops <= 1 {
		c.drop("TTL exceeded")
		c.unreachable(p, timeExceeded)

		return route{}, false
	}

	r, ok := c.route(to)

	switch {
	case !ok:
		c.drop("no route")
		c.unreachable(p, netUnreachable)
	case r.leg.BlockUDP && ip.IsUDP(p.ip()):
		c.drop("UDP blocked")
	case len(p.ip()) > r.leg.MTU && !mayFragment:
		c.drop("too big")

		if !r.leg.SilentTooBig {
			c.tooBig(p, r.leg.MTU)
		}
	default:
		return r, true
	}

	return route{}, false
}

// decrementTTL decrements the TTL and updates the checksum (RFC 1141).
func decrementTTL(h header.IPv4) {
	h.SetTTL(h.TTL() - 1)

	sum := uint32(h.Checksum()) + 0x100
	h.SetChecksum(uint16(sum + sum>>16))
}

// leave4 sends a packet through a leg, in fragments if it is too big.
func (c *Core) leave4(r route, p *packet) {
	_, next := addresses4(p.ip())
	if r.gateway.IsValid() {
		next = r.gateway
	}

	if len(p.ip()) <= r.leg.MTU {
		c.send(r.leg, next, p)

		return
	}

	for _, f := range c.fragment(p.ip(), r.leg.MTU) {
		c.send(r.leg, next, &packet{in: p.in, frame: f, sent: p.sent})
	}
}

// local4 answers an echo request to the router, and other packets with an error.
func (c *Core) local4(p *packet) {
	h := header.IPv4(p.ip())
	if h.More() || h.FragmentOffset() != 0 {
		return // fragments are not reassembled
	}

	message := header.ICMPv4(h.Payload())

	switch {
	case h.Protocol() == ip.UDP || h.Protocol() == ip.TCP:
		c.unreachable(p, portUnreachable)
	case h.Protocol() != ip.ICMP:
		c.error4(p, header.ICMPv4DstUnreachable, header.ICMPv4ProtoUnreachable, 0)
	case len(message) >= header.ICMPv4MinimumSize && message.Type() == header.ICMPv4Echo && sumValid(message):
		from, to := addresses4(h)
		reply := c.frame(header.IPv4MinimumSize + len(message))
		copy(reply[etherLen+header.IPv4MinimumSize:], message)

		answer := header.ICMPv4(reply[etherLen+header.IPv4MinimumSize:])
		answer.SetType(header.ICMPv4EchoReply)
		c.send4(reply, to, from)
	}
}
