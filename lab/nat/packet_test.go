// SPDX-License-Identifier: Apache-2.0

package nat

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// build serializes layers with correct lengths and checksums. Its implementation is not the one under test.
func build(t testing.TB, list ...gopacket.SerializableLayer) []byte {
	t.Helper()

	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, list...); err != nil {
		t.Fatal(err)
	}

	return b.Bytes()
}

func ipv4(proto layers.IPProtocol, from, to netip.Addr) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 64, Id: 4711, Protocol: proto, SrcIP: from.AsSlice(), DstIP: to.AsSlice()}
}

// segment is the flags of a TCP segment.
type segment string

// probe creates a packet. The identifier of an ICMP echo is the port of the inside.
func probe(t testing.TB, proto uint8, from, to netip.AddrPort, flags segment, payload string) []byte {
	t.Helper()

	data := gopacket.Payload(payload)

	switch proto {
	case udp:
		header, u := ipv4(layers.IPProtocolUDP, from.Addr(), to.Addr()), &layers.UDP{SrcPort: layers.UDPPort(from.Port()), DstPort: layers.UDPPort(to.Port())}
		_ = u.SetNetworkLayerForChecksum(header) // of IPv4 it cannot fail

		return build(t, header, u, data)
	case tcp:
		header := ipv4(layers.IPProtocolTCP, from.Addr(), to.Addr())
		s := &layers.TCP{SrcPort: layers.TCPPort(from.Port()), DstPort: layers.TCPPort(to.Port()), Window: 1000}

		for _, f := range flags {
			switch f {
			case 'S':
				s.SYN = true
			case 'A':
				s.ACK = true
			case 'F':
				s.FIN = true
			case 'R':
				s.RST = true
			}
		}

		_ = s.SetNetworkLayerForChecksum(header)

		return build(t, header, s, data)
	default:
		kind, ident := layers.ICMPv4TypeEchoRequest, from.Port()
		if flags == "reply" {
			kind, ident = layers.ICMPv4TypeEchoReply, to.Port()
		}

		return build(t, ipv4(layers.IPProtocolICMPv4, from.Addr(), to.Addr()),
			&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(uint8(kind), 0), Id: ident, Seq: 1}, data)
	}
}

// ends reads a packet's endpoints with another implementation, and checks its checksums.
func ends(t testing.TB, b []byte) (from, to netip.AddrPort) {
	t.Helper()

	p := gopacket.NewPacket(b, layers.LayerTypeIPv4, gopacket.Default)
	checkSums(t, p)

	ip, _ := p.NetworkLayer().(*layers.IPv4)
	src, _ := netip.AddrFromSlice(ip.SrcIP)
	dst, _ := netip.AddrFromSlice(ip.DstIP)

	var sport, dport uint16

	switch l := p.TransportLayer().(type) {
	case *layers.UDP:
		sport, dport = uint16(l.SrcPort), uint16(l.DstPort)
	case *layers.TCP:
		sport, dport = uint16(l.SrcPort), uint16(l.DstPort)
	}

	if l, ok := p.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4); ok {
		if l.TypeCode.Type() == layers.ICMPv4TypeEchoReply {
			dport = l.Id
		} else {
			sport = l.Id
		}
	}

	return netip.AddrPortFrom(src, sport), netip.AddrPortFrom(dst, dport)
}

func checkSums(t testing.TB, p gopacket.Packet) {
	t.Helper()

	if e := p.ErrorLayer(); e != nil {
		t.Fatalf("unreadable: %v", e.Error())
	}

	if l, ok := p.TransportLayer().(interface {
		SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
	}); ok {
		_ = l.SetNetworkLayerForChecksum(p.NetworkLayer())
	}

	err, mismatches := p.VerifyChecksums()
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range mismatches {
		t.Errorf("checksum of %v: got %#x, want %#x", m.Layer.LayerType(), m.Actual, m.Correct)
	}
}

func at(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// arrow returns a text of a packet's endpoints.
func arrow(t testing.TB, b []byte) string {
	t.Helper()

	from, to := ends(t, b)

	return fmt.Sprintf("%v > %v", from, to)
}
