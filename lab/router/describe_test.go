// SPDX-License-Identifier: Apache-2.0

package router

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// describe returns a frame as one line, read with another implementation, and checks its checksums.
func describe(t testing.TB, legs []Leg, f Frame) string {
	t.Helper()

	p := gopacket.NewPacket(f.Data, layers.LayerTypeEthernet, gopacket.Default)
	if e := p.ErrorLayer(); e != nil {
		t.Fatalf("unreadable frame % x: %v", f.Data, e.Error())
	}

	checkSums(t, p)

	link, _ := p.LinkLayer().(*layers.Ethernet)
	if got, want := HardwareAddr(link.SrcMAC), legs[f.Leg].MAC; got != want {
		t.Errorf("got a frame from %v, want %v", got, want)
	}

	text := fmt.Sprintf("%s to %v: ", legs[f.Leg].Name, link.DstMAC)

	for _, l := range p.Layers() {
		switch l := l.(type) {
		case *layers.ARP:
			text += fmt.Sprintf("ARP %d %v is at %v, %v at %v", l.Operation, net.IP(l.SourceProtAddress), net.HardwareAddr(l.SourceHwAddress), net.IP(l.DstProtAddress), net.HardwareAddr(l.DstHwAddress))
		case *layers.IPv4:
			text += fmt.Sprintf("%v > %v ttl %d", l.SrcIP, l.DstIP, l.TTL)
			if l.FragOffset > 0 || l.Flags&layers.IPv4MoreFragments != 0 {
				text += fmt.Sprintf(" fragment %d+%d", l.FragOffset*8, len(l.Payload))
			}
		case *layers.IPv6:
			text += fmt.Sprintf("%v > %v ttl %d", l.SrcIP, l.DstIP, l.HopLimit)
		case *layers.UDP:
			text += fmt.Sprintf(" udp %d > %d", l.SrcPort, l.DstPort)
		case *layers.ICMPv4:
			text += fmt.Sprintf(" icmp %d/%d", l.TypeCode.Type(), l.TypeCode.Code())
			if l.TypeCode.Type() == layers.ICMPv4TypeDestinationUnreachable && l.TypeCode.Code() == layers.ICMPv4CodeFragmentationNeeded {
				text += fmt.Sprintf(" mtu %d", l.Seq)
			}

			text += about(l.Payload)
		case *layers.ICMPv6:
			text += fmt.Sprintf(" icmp6 %d/%d", l.TypeCode.Type(), l.TypeCode.Code())
			if l.TypeCode.Type() == layers.ICMPv6TypePacketTooBig {
				text += fmt.Sprintf(" mtu %d", uint32(l.Payload[0])<<24|uint32(l.Payload[1])<<16|uint32(l.Payload[2])<<8|uint32(l.Payload[3]))
			}

			if l.TypeCode.Type() < 128 {
				text += about(l.Payload[4:])
			}
		case *layers.ICMPv6NeighborSolicitation:
			text += fmt.Sprintf(" who is %v", l.TargetAddress)
		case *layers.ICMPv6NeighborAdvertisement:
			text += fmt.Sprintf(" %v is flags %#x", l.TargetAddress, l.Flags)
		}
	}

	return text
}

// about returns the packet of an ICMP error as a text.
func about(b []byte) string {
	first := layers.LayerTypeIPv4

	switch {
	case len(b) < 20 || b[0]>>4 != 4 && b[0]>>4 != 6:
		return ""
	case b[0]>>4 == 6:
		first = layers.LayerTypeIPv6
	}

	p := gopacket.NewPacket(b, first, gopacket.Default)
	if p.NetworkLayer() == nil {
		return ""
	}

	from, to := p.NetworkLayer().NetworkFlow().Endpoints()

	return fmt.Sprintf(" about %v > %v", from, to)
}

func checkSums(t testing.TB, p gopacket.Packet) {
	t.Helper()

	if fragment, ok := p.NetworkLayer().(*layers.IPv4); ok && (fragment.FragOffset > 0 || fragment.Flags&layers.IPv4MoreFragments != 0) {
		return // the checksum is that of the reassembled packet
	}

	for _, l := range p.Layers() {
		if l, ok := l.(interface {
			SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
		}); ok {
			_ = l.SetNetworkLayerForChecksum(p.NetworkLayer())
		}
	}

	err, mismatches := p.VerifyChecksums()
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range mismatches {
		t.Errorf("checksum of %v: got %#x, want %#x", m.Layer.LayerType(), m.Actual, m.Correct)
	}
}

func describeAll(t testing.TB, legs []Leg, frames []Frame) string {
	t.Helper()

	var lines []string
	for _, f := range frames {
		lines = append(lines, describe(t, legs, f))
	}

	return strings.Join(lines, "\n")
}

func at(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
