// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"encoding/binary"
	"math"
	"net"
	"net/netip"
	"time"

	"github.com/miekg/dns"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// Options of neighbour discovery (RFC 4861, 4.6; RFC 8106).
const (
	ndSourceLinkLayer = 1
	ndPrefix          = 3
	ndMTU             = 5
	ndRDNSS           = 25
	ndDNSSL           = 31
	// ndHopLimit is the hop limit of packets that were not routed.
	ndHopLimit = 255
	// minMTU6 is the smallest MTU of an IPv6 network.
	minMTU6 = 1280
)

var allNodes = netip.MustParseAddr("ff02::1")

// goodbye returns an advertisement with lifetime 0.
func (c *Config) goodbye(ra RouterAdvertisement) []byte {
	ra.NotDefault = true

	return c.advertisement(ra)
}

// advertisement returns the Ethernet frame of a router advertisement to all nodes.
func (c *Config) advertisement(ra RouterAdvertisement) []byte {
	from, mac := SLAAC(linkLocal6, c.MAC), c.MAC
	if !ra.From.IsZero() {
		from = ra.From.Addr
		mac, _ = net.ParseMAC(ra.From.MAC) // validated
	}

	body := make([]byte, header.ICMPv6HeaderSize+header.NDPRAMinimumSize)
	body[0] = byte(header.ICMPv6RouterAdvert)
	body[4] = raHopLimit
	body[5] = flag(ra.Managed, 0x80) | flag(ra.Other, 0x40)
	binary.BigEndian.PutUint16(body[6:], uint16(ra.lifetime()/time.Second))

	body = append(body, ndSourceLinkLayer, 1)
	body = append(body, mac...)

	if !ra.NoMTU {
		body = append(body, ndMTU, 1, 0, 0)
		body = binary.BigEndian.AppendUint32(body, cmp.Or(ra.MTU, uint32(c.MTU)))
	}

	if !ra.NoPrefix {
		body = append(body, ndPrefix, 4, byte(c.Subnet6.Bits()), flag(!ra.NoOnLink, 0x80)|flag(!ra.NoAutonomous, 0x40))
		body = binary.BigEndian.AppendUint32(body, seconds(ra.valid()))
		body = binary.BigEndian.AppendUint32(body, seconds(ra.preferred()))
		body = append(body, 0, 0, 0, 0)
		body = append(body, c.Subnet6.Masked().Addr().AsSlice()...)
	}

	if !ra.NoDNS {
		body = append(body, c.dnsOptions(ra)...)
	}

	// The Ethernet source is the gateway's own, so that the switch does not learn the announced router's address on the
	// gateway's port.
	return ipv6Frame(c.MAC, from, allNodes, body)
}

// dnsOptions returns the options RDNSS and DNSSL. They are valid for three intervals, as RFC 8106 recommends, but at
// least for the router's lifetime.
func (c *Config) dnsOptions(ra RouterAdvertisement) []byte {
	servers, search := ra.DNS, ra.Search
	if servers == nil && c.has(ServiceDNS) {
		servers = []netip.Addr{c.Addr6}
	}

	if search == nil && c.Domain != "" {
		search = []string{c.Domain}
	}

	lifetime := max(3*ra.interval(), ra.lifetime())

	var options []byte

	if len(servers) > 0 {
		options = append(options, ndRDNSS, byte(1+2*len(servers)), 0, 0)
		options = binary.BigEndian.AppendUint32(options, seconds(lifetime))

		for _, server := range servers {
			options = append(options, server.AsSlice()...)
		}
	}

	if len(search) > 0 {
		names := domainNames(search)
		for len(names)%8 != 0 {
			names = append(names, 0)
		}

		options = append(options, ndDNSSL, byte(1+len(names)/8), 0, 0)
		options = binary.BigEndian.AppendUint32(options, seconds(lifetime))
		options = append(options, names...)
	}

	return options
}

// domainNames returns names in DNS's encoding, without compression.
func domainNames(names []string) []byte {
	var out []byte

	for _, name := range names {
		buf := make([]byte, 256)
		if n, err := dns.PackDomainName(dns.Fqdn(name), buf, 0, nil, false); err == nil {
			out = append(out, buf[:n]...)
		}
	}

	return out
}

// ipv6Frame puts an ICMPv6 message into a frame to a multicast group.
func ipv6Frame(mac net.HardwareAddr, from, to netip.Addr, icmp []byte) []byte {
	src, dst := tcpip.AddrFrom16(from.As16()), tcpip.AddrFrom16(to.As16())

	frame := make([]byte, header.EthernetMinimumSize+header.IPv6MinimumSize, header.EthernetMinimumSize+header.IPv6MinimumSize+len(icmp))
	header.Ethernet(frame).Encode(&header.EthernetFields{
		SrcAddr: tcpip.LinkAddress(mac),
		DstAddr: header.EthernetAddressFromMulticastIPv6Address(dst),
		Type:    header.IPv6ProtocolNumber,
	})
	header.IPv6(frame[header.EthernetMinimumSize:]).Encode(&header.IPv6Fields{
		PayloadLength:     uint16(len(icmp)),
		TransportProtocol: header.ICMPv6ProtocolNumber,
		HopLimit:          ndHopLimit,
		SrcAddr:           src,
		DstAddr:           dst,
	})

	message := header.ICMPv6(icmp)
	message.SetChecksum(0)
	message.SetChecksum(header.ICMPv6Checksum(header.ICMPv6ChecksumParams{Header: message, Src: src, Dst: dst}))

	return append(frame, icmp...)
}

// isSolicitation reports whether a frame is a router solicitation. The other checks of RFC 4861, 6.1.1, are not needed
// in a lab.
func isSolicitation(frame []byte) bool {
	if len(frame) < header.EthernetMinimumSize+header.IPv6MinimumSize+header.ICMPv6HeaderSize+4 {
		return false
	}

	packet := header.IPv6(frame[header.EthernetMinimumSize:])

	return header.Ethernet(frame).Type() == header.IPv6ProtocolNumber &&
		packet.TransportProtocol() == header.ICMPv6ProtocolNumber &&
		packet.HopLimit() == ndHopLimit &&
		header.ICMPv6(packet[header.IPv6MinimumSize:]).Type() == header.ICMPv6RouterSolicit
}

func flag(set bool, bit byte) byte {
	if set {
		return bit
	}

	return 0
}

// seconds returns a lifetime as in a packet, where the largest number is infinity.
func seconds(d time.Duration) uint32 {
	if d >= raInfinite {
		return math.MaxUint32
	}

	return uint32(d / time.Second)
}
