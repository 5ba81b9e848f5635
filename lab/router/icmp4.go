// SPDX-License-Identifier: Apache-2.0

package router

import (
	"net/netip"

	"github.com/seed-59268b81/talos/lab/ip"

	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// ownTTL is the TTL or hop limit of the router's own packets.
const ownTTL = 64

// problem is why a packet does not arrive, with its numbers in both kinds of ICMP.
type problem struct {
	type4 header.ICMPv4Type
	code4 header.ICMPv4Code
	type6 header.ICMPv6Type
	code6 header.ICMPv6Code
}

var (
	netUnreachable  = problem{header.ICMPv4DstUnreachable, header.ICMPv4NetUnreachable, header.ICMPv6DstUnreachable, header.ICMPv6NetworkUnreachable}
	hostUnreachable = problem{header.ICMPv4DstUnreachable, header.ICMPv4HostUnreachable, header.ICMPv6DstUnreachable, header.ICMPv6AddressUnreachable}
	portUnreachable = problem{header.ICMPv4DstUnreachable, header.ICMPv4PortUnreachable, header.ICMPv6DstUnreachable, header.ICMPv6PortUnreachable}
	timeExceeded    = problem{header.ICMPv4TimeExceeded, header.ICMPv4TTLExceeded, header.ICMPv6TimeExceeded, header.ICMPv6HopLimitExceeded}
)

// unreachable sends an ICMP error about a problem to a packet's sender.
func (c *Core) unreachable(p *packet, why problem) {
	switch {
	case len(p.sent) == 0: // the router's own
	case header.IPVersion(p.sent) == header.IPv4Version:
		c.error4(p, why.type4, why.code4, 0)
	default:
		c.error6(p, why.type6, why.code6, 0)
	}
}

// tooBig sends an ICMP error with the size that fits to a packet's sender.
func (c *Core) tooBig(p *packet, mtu int) {
	if header.IPVersion(p.sent) == header.IPv4Version {
		c.error4(p, header.ICMPv4DstUnreachable, header.ICMPv4FragmentationNeeded, uint32(mtu))
	} else {
		c.error6(p, header.ICMPv6PacketTooBig, 0, uint32(mtu))
	}
}

// error4 sends an ICMP error about a packet, except about the packets that never get one (RFC 1812, section 4.3.2.7).
func (c *Core) error4(p *packet, kind header.ICMPv4Type, code header.ICMPv4Code, rest uint32) {
	sent := header.IPv4(p.sent)
	if sent.FragmentOffset() != 0 || isError4(sent) {
		return
	}

	to, about := addresses4(sent)
	if !to.IsGlobalUnicast() && !to.IsLinkLocalUnicast() {
		return
	}

	// Prefer the address that the sender has used; otherwise use that of the leg that received the packet.
	from := p.in.address4(to)

	switch {
	case c.own[about] != nil:
		from = about
	case p.in.table != nil:
		from = p.in.table.External()
	}

	if from.IsUnspecified() {
		return // a network without IPv4
	}

	quote := sent[:min(len(sent), sentLimit)]
	frame := c.frame(header.IPv4MinimumSize + header.ICMPv4MinimumSize + len(quote))
	message := header.ICMPv4(frame[etherLen+header.IPv4MinimumSize:])
	clear(message[:header.ICMPv4MinimumSize])
	message.SetType(kind)
	message.SetCode(code)
	message.SetMTU(uint16(rest))
	copy(message.Payload(), quote)
	c.send4(frame, from, to)
}

// isError4 reports whether a packet is an ICMP message other than a query or a reply.
func isError4(b header.IPv4) bool {
	if b.Protocol() != ip.ICMP || len(b) <= int(b.HeaderLength()) {
		return false
	}

	switch header.ICMPv4Type(b[b.HeaderLength()]) {
	case header.ICMPv4Echo, header.ICMPv4EchoReply, header.ICMPv4Timestamp, header.ICMPv4TimestampReply:
		return false
	}

	return true
}

// send4 sends an ICMP message of the router, in a frame with room for the headers.
func (c *Core) send4(frame []byte, from, to netip.Addr) {
	r, ok := c.route(to)
	if !ok {
		return
	}

	h := header.IPv4(frame[etherLen:])
	clear(h[:header.IPv4MinimumSize])

	c.id++
	h[0] = header.IPv4Version<<4 | header.IPv4MinimumSize/4
	h.SetTotalLength(uint16(len(h)))
	h.SetID(c.id)
	h.SetTTL(ownTTL)
	h[9] = ip.ICMP
	copy(h.SourceAddressSlice(), from.AsSlice())
	copy(h.DestinationAddressSlice(), to.AsSlice())
	sumHeader(h)

	message := header.ICMPv4(h[header.IPv4MinimumSize:])
	message.SetChecksum(0)
	message.SetChecksum(^checksum.Checksum(message, 0))

	c.leave4(r, &packet{frame: frame})
}

func sumValid(message []byte) bool { return checksum.Checksum(message, 0) == 0xffff }
