// SPDX-License-Identifier: Apache-2.0

package router

import (
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

const (
	// ndpHopLimit is the hop limit of messages that were not forwarded (RFC 4861).
	ndpHopLimit = 255
	// The options of neighbor discovery with a hardware address.
	sourceLinkAddress = 1
	targetLinkAddress = 2
	linkOptionLen     = 8
	// A solicitation and an advertisement of a neighbor are a header, four bytes of flags, and the target.
	targetOffset = 8
	neighborLen  = 24
)

// The flags of a neighbor advertisement.
const (
	fromRouter = 0x80
	solicited  = 0x40
	override   = 0x20
)

// solicitedNode returns the multicast group of an address.
func solicitedNode(a netip.Addr) netip.Addr {
	return netip.AddrFrom16(header.SolicitedNodeAddr(tcpip.AddrFrom16(a.As16())).As16())
}

// multicastMAC returns the hardware address of a multicast group.
func multicastMAC(group netip.Addr) HardwareAddr {
	return HardwareAddr([]byte(header.EthernetAddressFromMulticastIPv6Address(tcpip.AddrFrom16(group.As16()))))
}

// solicits reports whether group is the solicited-node group of one of the leg's addresses.
func (l *leg) solicits(group netip.Addr) bool {
	if !group.IsMulticast() {
		return false
	}

	for _, a := range l.Addresses {
		if a.Addr().Is6() && solicitedNode(a.Addr()) == group {
			return true
		}
	}

	return solicitedNode(l.linkLocal) == group
}

// receiveNDP handles a message of neighbor discovery (RFC 4861).
func (c *Core) receiveNDP(l *leg, message header.ICMPv6, from, to netip.Addr, hopLimit uint8) {
	if hopLimit != ndpHopLimit || message.Code() != 0 {
		return
	}

	switch kind := message.Type(); {
	case len(message) < neighborLen:
	case kind == header.ICMPv6NeighborSolicit:
		c.answerSolicitation(l, message, from)
	case kind == header.ICMPv6NeighborAdvert:
		target := netip.AddrFrom16([16]byte(message[targetOffset:]))
		if to.IsMulticast() && message[4]&solicited != 0 {
			return // RFC 4861, section 7.1.2
		}

		n := l.neighbors[target]

		mac, ok := linkOption(message[neighborLen:], targetLinkAddress)
		if ok && n != nil && (!n.known() || n.mac == mac || message[4]&override != 0) {
			c.learn(l, target, mac, false)
		}
	}
}

func (c *Core) answerSolicitation(l *leg, message header.ICMPv6, from netip.Addr) {
	target := netip.AddrFrom16([16]byte(message[targetOffset:]))
	if target != l.linkLocal && !l.owns(target) {
		return
	}

	mac, ok := linkOption(message[neighborLen:], sourceLinkAddress)

	switch {
	case from.IsUnspecified(): // a host checks whether the address is free (RFC 4862)
		c.advertise(l, target, allNodes, multicastMAC(allNodes), 0)
	case ok && !mac.group():
		c.learn(l, from, mac, true)
		c.advertise(l, target, from, mac, solicited)
	default:
		if n := l.neighbors[from]; n != nil && n.known() {
			c.advertise(l, target, from, n.mac, solicited)
		}
	}
}

// advertise announces an address of this leg.
func (c *Core) advertise(l *leg, target, to netip.Addr, mac HardwareAddr, flags byte) {
	c.sendNDP(l, header.ICMPv6NeighborAdvert, fromRouter|override|flags, target, targetLinkAddress, target, to, mac)
}

// solicitNeighbor sends a solicitation for an address.
func (c *Core) solicitNeighbor(l *leg, target netip.Addr) {
	group := solicitedNode(target)
	c.sendNDP(l, header.ICMPv6NeighborSolicit, 0, target, sourceLinkAddress, l.linkLocal, group, multicastMAC(group))
}

// sendNDP sends a solicitation or an advertisement of a neighbor.
func (c *Core) sendNDP(l *leg, kind header.ICMPv6Type, flags byte, target netip.Addr, option byte, from, to netip.Addr, mac HardwareAddr) {
	frame := c.frame(header.IPv6MinimumSize + neighborLen + linkOptionLen)
	message := header.ICMPv6(frame[etherLen+header.IPv6MinimumSize:])
	clear(message)
	message.SetType(kind)
	message[4] = flags
	copy(message[targetOffset:], target.AsSlice())
	writeLinkOption(message[neighborLen:], option, l.MAC)
	writeHeader6(frame, from, to, ndpHopLimit)
	c.emit(l, frame, mac, uint16(header.IPv6ProtocolNumber))
}

func writeLinkOption(b []byte, kind byte, mac HardwareAddr) {
	b[0], b[1] = kind, 1
	copy(b[2:], mac[:])
}

// linkOption returns the hardware address in the options of a message.
func linkOption(options []byte, kind byte) (HardwareAddr, bool) {
	for len(options) >= linkOptionLen {
		size := int(options[1]) * 8
		if size == 0 || size > len(options) {
			break
		}

		if options[0] == kind && size == linkOptionLen {
			return HardwareAddr(options[2:]), true
		}

		options = options[size:]
	}

	return HardwareAddr{}, false
}
