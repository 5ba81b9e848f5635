// SPDX-License-Identifier: Apache-2.0

package nat

import (
	"encoding/binary"

	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// The numbers of the translated protocols.
const (
	icmp = uint8(header.ICMPv4ProtocolNumber)
	tcp  = uint8(header.TCPProtocolNumber)
	udp  = uint8(header.UDPProtocolNumber)
)

// The offsets of the rewritten fields.
const (
	ipChecksum   = 10
	udpChecksum  = 6
	tcpChecksum  = 16
	icmpChecksum = 2
	icmpIdent    = 4
)

// endpoint is an address and a port, or the identifier of an ICMP query.
type endpoint struct {
	addr [4]byte
	port uint16
}

// packet is an IPv4 packet whose fields point into its bytes.
type packet struct {
	ip    header.IPv4
	l4    []byte // the bytes after the IP header
	proto uint8
	// src and dst have no port in a later fragment and an ICMP error. In an ICMP query both have its identifier.
	src, dst endpoint
	// later marks a fragment other than the first one, more a fragment that is not the last one.
	later, more bool
}

// parse reads a whole packet. It returns false for one that is invalid or too short.
func parse(b []byte) (packet, bool) {
	ip := header.IPv4(b)
	if !ip.IsValid(len(b)) || !ip.IsChecksumValid() {
		return packet{}, false
	}

	p := cut(b, int(ip.TotalLength()))
	if p.later {
		return p, true
	}

	switch p.proto {
	case tcp:
		if len(p.l4) < header.TCPMinimumSize {
			return packet{}, false
		}
	case udp, icmp:
		if len(p.l4) < header.UDPMinimumSize {
			return packet{}, false
		}
	default:
		return p, true
	}

	p.readPorts()

	return p, true
}

// parseEmbedded reads the packet inside an ICMP error: its header and at least eight more bytes.
func parseEmbedded(b []byte) (packet, bool) {
	if len(b) < header.IPv4MinimumSize || header.IPVersion(b) != header.IPv4Version {
		return packet{}, false
	}

	ip := header.IPv4(b)

	size := int(ip.HeaderLength())
	if size < header.IPv4MinimumSize || len(b) < size+header.UDPMinimumSize || !ip.IsChecksumValid() {
		return packet{}, false
	}

	p := cut(b, len(b))
	if p.later || p.proto != tcp && p.proto != udp && !p.isQuery() && !p.isReply() {
		return packet{}, false
	}

	p.readPorts()

	return p, true
}

func cut(b []byte, end int) packet {
	ip := header.IPv4(b)

	return packet{
		ip: ip, l4: b[ip.HeaderLength():end], proto: ip.Protocol(),
		src:   endpoint{addr: [4]byte(ip.SourceAddressSlice())},
		dst:   endpoint{addr: [4]byte(ip.DestinationAddressSlice())},
		later: ip.FragmentOffset() > 0, more: ip.More(),
	}
}

func (p *packet) readPorts() {
	switch {
	case p.proto != icmp:
		p.src.port, p.dst.port = binary.BigEndian.Uint16(p.l4), binary.BigEndian.Uint16(p.l4[2:])
	case p.isQuery() || p.isReply():
		p.src.port = binary.BigEndian.Uint16(p.l4[icmpIdent:])
		p.dst.port = p.src.port
	}
}

func (p *packet) isQuery() bool {
	return p.proto == icmp && header.ICMPv4Type(p.l4[0]) == header.ICMPv4Echo
}

func (p *packet) isReply() bool {
	return p.proto == icmp && header.ICMPv4Type(p.l4[0]) == header.ICMPv4EchoReply
}

// isError reports whether the packet is an ICMP error, which carries the beginning of another packet.
func (p *packet) isError() bool {
	if p.proto != icmp || p.later {
		return false
	}

	switch header.ICMPv4Type(p.l4[0]) {
	case header.ICMPv4DstUnreachable, header.ICMPv4TimeExceeded, header.ICMPv4ParamProblem, header.ICMPv4SrcQuench:
		return true
	}

	return false
}

// remote returns the endpoint on the other side of p's session, as seen from inside. That of an ICMP query has no port.
func (p *packet) remote(d Direction) endpoint {
	r := p.dst
	if d == Inbound {
		r = p.src
	}

	if p.proto == icmp {
		r.port = 0
	}

	return r
}

func (p *packet) setSource(e endpoint) {
	p.rewrite(p.src, e, p.ip.SourceAddressSlice(), 0)
	p.src = e
}

func (p *packet) setDestination(e endpoint) {
	p.rewrite(p.dst, e, p.ip.DestinationAddressSlice(), 2)
	p.dst = e
}

// rewrite replaces one of the packet's endpoints; port is the offset of its port.
func (p *packet) rewrite(old, next endpoint, addr []byte, port int) {
	copy(addr, next.addr[:])
	address := addressDelta(old, next)
	adjust(p.ip[ipChecksum:], address)

	if p.later {
		return
	}

	switch change := address + portDelta(old, next); p.proto {
	case udp:
		binary.BigEndian.PutUint16(p.l4[port:], next.port)

		// Zero means no checksum (RFC 768), so a sum of zero is written as 0xffff.
		if sum := p.l4[udpChecksum:]; sum[0]|sum[1] != 0 {
			if adjust(sum, change); sum[0]|sum[1] == 0 {
				sum[0], sum[1] = 0xff, 0xff
			}
		}
	case tcp:
		binary.BigEndian.PutUint16(p.l4[port:], next.port)

		if len(p.l4) >= tcpChecksum+2 { // an ICMP error may carry fewer bytes
			adjust(p.l4[tcpChecksum:], change)
		}
	case icmp: // has no pseudo header
		if p.isQuery() || p.isReply() {
			binary.BigEndian.PutUint16(p.l4[icmpIdent:], next.port)
			adjust(p.l4[icmpChecksum:], portDelta(old, next))
		}
	}
}

// addressDelta and portDelta return what a change of an endpoint adds to a complemented checksum: the complements of
// the old words, and the new words.
func addressDelta(old, next endpoint) uint32 {
	return uint32(^binary.BigEndian.Uint16(old.addr[:])) + uint32(^binary.BigEndian.Uint16(old.addr[2:])) +
		uint32(binary.BigEndian.Uint16(next.addr[:])) + uint32(binary.BigEndian.Uint16(next.addr[2:]))
}

func portDelta(old, next endpoint) uint32 { return uint32(^old.port) + uint32(next.port) }

// adjust updates a checksum (RFC 1624, equation 3).
func adjust(sum []byte, delta uint32) {
	s := uint32(^binary.BigEndian.Uint16(sum)) + delta
	s = s>>16 + s&0xffff
	s += s >> 16
	binary.BigEndian.PutUint16(sum, ^uint16(s))
}

// sumICMP writes an ICMP message's checksum.
func sumICMP(message []byte) {
	header.ICMPv4(message).SetChecksum(0)
	header.ICMPv4(message).SetChecksum(^checksum.Checksum(message, 0))
}
