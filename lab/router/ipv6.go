// SPDX-License-Identifier: Apache-2.0

package router

import (
	"net/netip"

	"github.com/seed-59268b81/talos/lab/ip"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

var (
	allNodes   = netip.IPv6LinkLocalAllNodes()
	allRouters = netip.IPv6LinkLocalAllRouters()
)

// receive6 handles an IPv6 packet from a leg.
func (c *Core) receive6(l *leg, b []byte, mac HardwareAddr) {
	if !l.linkLocal.IsValid() {
		return // the leg has no IPv6
	}

	h := header.IPv6(b)
	if !h.IsValid(len(b)) {
		c.drop("malformed")

		return
	}

	b = b[:header.IPv6MinimumSize+int(h.PayloadLength())]
	p := &packet{in: l, frame: c.frame(len(b)), sent: b}
	copy(p.ip(), b)

	from, to := addresses6(b)

	switch {
	case from.IsMulticast() || from.IsLoopback() || to.IsLoopback() || to.IsUnspecified() || from.Is4In6() || to.Is4In6():
		c.drop("bad address")
	case to == l.linkLocal, to == allNodes, to == allRouters, l.solicits(to):
		c.local6(l, p)
	case to.IsMulticast() || mac.group():
		return
	case l.BlockUDP && c.own[to] != l && ip.IsUDP(b):
		c.drop("UDP blocked")
	case c.own[to] != nil:
		c.local6(l, p)
	default:
		c.forward6(p)
	}
}

func addresses6(b []byte) (from, to netip.Addr) {
	return netip.AddrFrom16([16]byte(header.IPv6(b).SourceAddressSlice())), netip.AddrFrom16([16]byte(header.IPv6(b).DestinationAddressSlice()))
}

// forward6 forwards a packet.
func (c *Core) forward6(p *packet) {
	h := header.IPv6(p.ip())
	from, to := addresses6(h)

	if from.IsUnspecified() || from.IsLinkLocalUnicast() || to.IsLinkLocalUnicast() {
		c.drop("bad address")

		return
	}

	r, ok := c.way(p, to, h.HopLimit(), false)
	if !ok {
		return
	}

	h.SetHopLimit(h.HopLimit() - 1)

	c.forwarded++
	c.leave6(r, p)
}

func (c *Core) leave6(r route, p *packet) {
	_, next := addresses6(p.ip())
	if r.gateway.IsValid() {
		next = r.gateway
	}

	c.send(r.leg, next, p)
}

// local6 handles a packet for the router itself: neighbor discovery and echo requests.
func (c *Core) local6(l *leg, p *packet) {
	h := p.ip()
	from, to := addresses6(h)

	u, ok := ip.Parse(h)
	if !ok || u.Later || from.IsUnspecified() && u.Protocol != ip.ICMPv6 {
		return
	}

	switch message := header.ICMPv6(h[u.Offset:]); {
	case to.IsMulticast() && u.Protocol != ip.ICMPv6:
	case u.Protocol == ip.UDP || u.Protocol == ip.TCP:
		c.unreachable(p, portUnreachable)
	case u.Protocol != ip.ICMPv6:
		return
	case len(message) < header.ICMPv6MinimumSize || sum6(message, from, to) != 0xffff:
		c.drop("malformed")
	case message.Type() == header.ICMPv6EchoRequest:
		if !from.IsUnspecified() {
			c.echo6(l, message, from, to)
		}
	default:
		c.receiveNDP(l, message, from, to, header.IPv6(h).HopLimit())
	}
}
