// SPDX-License-Identifier: Apache-2.0

package router

import (
	"net/netip"
	"sync"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// build serializes layers with correct lengths and checksums. Its implementation is not the one under test.
func build(list ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, list...); err != nil {
		panic(err) // of layers that a test wrote down
	}

	return b.Bytes()
}

func ethernet(from, to HardwareAddr, kind layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: from[:], DstMAC: to[:], EthernetType: kind}
}

// udpFrame returns a frame with a UDP packet of IPv4 or IPv6.
func udpFrame(fromMAC, toMAC HardwareAddr, from, to netip.AddrPort, ttl uint8, payload []byte) []byte {
	u := &layers.UDP{SrcPort: layers.UDPPort(from.Port()), DstPort: layers.UDPPort(to.Port())}

	if from.Addr().Is4() {
		ip := &layers.IPv4{Version: 4, TTL: ttl, Protocol: layers.IPProtocolUDP, SrcIP: from.Addr().AsSlice(), DstIP: to.Addr().AsSlice()}
		_ = u.SetNetworkLayerForChecksum(ip) // of IP it cannot fail

		return build(ethernet(fromMAC, toMAC, layers.EthernetTypeIPv4), ip, u, gopacket.Payload(payload))
	}

	ip := &layers.IPv6{Version: 6, HopLimit: ttl, NextHeader: layers.IPProtocolUDP, SrcIP: from.Addr().AsSlice(), DstIP: to.Addr().AsSlice()}
	_ = u.SetNetworkLayerForChecksum(ip)

	return build(ethernet(fromMAC, toMAC, layers.EthernetTypeIPv6), ip, u, gopacket.Payload(payload))
}

func arpFrame(op uint16, fromMAC, toMAC HardwareAddr, from, to netip.Addr) []byte {
	target := toMAC
	if toMAC == broadcast {
		target = HardwareAddr{}
	}

	return build(ethernet(fromMAC, toMAC, layers.EthernetTypeARP), &layers.ARP{
		AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4, Operation: op,
		SourceHwAddress: fromMAC[:], SourceProtAddress: from.AsSlice(), DstHwAddress: target[:], DstProtAddress: to.AsSlice(),
	})
}

// host has one card with one IPv4 address, and answers ARP and UDP.
type host struct {
	mac, gateway HardwareAddr
	addr         netip.Addr
	// answer returns the answer to a datagram, or nil.
	answer func(port uint16, from netip.AddrPort, payload string) []byte
	send   func(frame []byte)

	mu sync.Mutex // on real switches a host receives on their goroutines
}

func (h *host) receive(frame []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()

	if to := HardwareAddr(frame); to != h.mac && !to.group() {
		return
	}

	p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
	back := HardwareAddr(frame[6:])

	if a, ok := p.Layer(layers.LayerTypeARP).(*layers.ARP); ok {
		if asker, _ := netip.AddrFromSlice(a.SourceProtAddress); a.Operation == layers.ARPRequest && [4]byte(a.DstProtAddress) == h.addr.As4() {
			h.send(arpFrame(layers.ARPReply, h.mac, back, h.addr, asker))
		}
	}

	u, ok := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
	if !ok {
		return
	}

	from, _ := netip.AddrFromSlice(p.NetworkLayer().NetworkFlow().Src().Raw())
	to, _ := netip.AddrFromSlice(p.NetworkLayer().NetworkFlow().Dst().Raw())

	if to != h.addr {
		return
	}

	remote := netip.AddrPortFrom(from, uint16(u.SrcPort))
	if answer := h.answer(uint16(u.DstPort), remote, string(u.Payload)); answer != nil {
		h.send(udpFrame(h.mac, back, netip.AddrPortFrom(h.addr, uint16(u.DstPort)), remote, 64, answer))
	}
}

// datagram sends a datagram through the gateway.
func (h *host) datagram(port uint16, to netip.AddrPort, payload string) {
	h.send(udpFrame(h.mac, h.gateway, netip.AddrPortFrom(h.addr, port), to, 64, []byte(payload)))
}

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func prefixes(list ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, s := range list {
		all = append(all, prefix(s))
	}

	return all
}

func card(n byte) HardwareAddr { return HardwareAddr{2, 0, 0, 0, 0, n} }

func newCore(t testing.TB, cfg Config) *Core {
	t.Helper()

	c, err := NewCore(cfg)
	if err != nil {
		t.Fatal(err)
	}

	return c
}
