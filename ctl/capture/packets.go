// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// maxPacket is the largest packet that is read, in bytes.
const maxPacket = 256 << 10

// Print describes the packets of a pcap file, a line each, until it ends.
func Print(w io.Writer, file io.Reader) error {
	packets, err := pcapgo.NewReader(file)
	if err != nil {
		// The capture has ended before its header was written.
		if errors.Is(err, io.EOF) {
			return nil
		}

		return fmt.Errorf("read capture: %w", err)
	}

	packets.SetSnaplen(maxPacket)

	for {
		data, info, err := packets.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return fmt.Errorf("read capture: %w", err)
		}

		packet := gopacket.NewPacket(data, packets.LinkType(), gopacket.DecodeOptions{Lazy: true, NoCopy: true})

		if _, err := fmt.Fprintf(w, "%s %s\n", info.Timestamp.UTC().Format("15:04:05.000000"), describe(packet, info.Length)); err != nil {
			return err
		}
	}
}

func describe(packet gopacket.Packet, length int) string {
	transport := packet.TransportLayer()

	switch network := packet.NetworkLayer().(type) {
	case *layers.IPv4:
		return ip("IP", network.SrcIP.String(), network.DstIP.String(), network.Protocol, packet, transport, length)
	case *layers.IPv6:
		return ip("IP6", network.SrcIP.String(), network.DstIP.String(), network.NextHeader, packet, transport, length)
	}

	if arp, ok := packet.Layer(layers.LayerTypeARP).(*layers.ARP); ok {
		return describeARP(arp, length)
	}

	if ethernet, ok := packet.LinkLayer().(*layers.Ethernet); ok {
		return fmt.Sprintf("%s > %s, %s, length %d", ethernet.SrcMAC, ethernet.DstMAC, ethernet.EthernetType, length)
	}

	return fmt.Sprintf("packet of %d bytes that cannot be decoded", length)
}

func ip(name, source, destination string, protocol layers.IPProtocol, packet gopacket.Packet, transport gopacket.TransportLayer, length int) string {
	switch t := transport.(type) {
	case *layers.TCP:
		return fmt.Sprintf("%s %s.%d > %s.%d: TCP [%s], seq %d, ack %d, win %d, length %d",
			name, source, uint16(t.SrcPort), destination, uint16(t.DstPort), tcpFlags(t), t.Seq, t.Ack, t.Window, len(t.Payload))
	case *layers.UDP:
		return fmt.Sprintf("%s %s.%d > %s.%d: UDP%s, length %d",
			name, source, uint16(t.SrcPort), destination, uint16(t.DstPort), dns(packet), len(t.Payload))
	}

	if icmp, ok := packet.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4); ok {
		return fmt.Sprintf("%s %s > %s: ICMP %s, length %d", name, source, destination, icmp.TypeCode, length)
	}

	if icmp, ok := packet.Layer(layers.LayerTypeICMPv6).(*layers.ICMPv6); ok {
		return fmt.Sprintf("%s %s > %s: ICMP6 %s, length %d", name, source, destination, icmp.TypeCode, length)
	}

	return fmt.Sprintf("%s %s > %s: %s, length %d", name, source, destination, protocol, length)
}

// tcpFlags formats the flags as tcpdump does.
func tcpFlags(t *layers.TCP) string {
	var flags strings.Builder

	for _, flag := range []struct {
		set  bool
		name string
	}{{t.FIN, "F"}, {t.SYN, "S"}, {t.RST, "R"}, {t.PSH, "P"}, {t.ACK, "."}, {t.URG, "U"}, {t.ECE, "E"}, {t.CWR, "W"}} {
		if flag.set {
			flags.WriteString(flag.name)
		}
	}

	if flags.Len() == 0 {
		return "none"
	}

	return flags.String()
}

func dns(packet gopacket.Packet) string {
	message, ok := packet.Layer(layers.LayerTypeDNS).(*layers.DNS)
	if !ok {
		return ""
	}

	var names []string
	for _, question := range message.Questions {
		names = append(names, fmt.Sprintf("%s %q", question.Type, question.Name))
	}

	kind := "query"
	if message.QR {
		kind = fmt.Sprintf("answer (%s, %d records) to", message.ResponseCode, len(message.Answers))
	}

	return fmt.Sprintf(", DNS %s %s", kind, strings.Join(names, ", "))
}

func describeARP(arp *layers.ARP, length int) string {
	if arp.Operation == layers.ARPReply {
		return fmt.Sprintf("ARP %s is at %s, length %d", addressOf(arp.SourceProtAddress), addressOf(arp.SourceHwAddress), length)
	}

	return fmt.Sprintf("ARP who has %s tell %s, length %d", addressOf(arp.DstProtAddress), addressOf(arp.SourceProtAddress), length)
}

// addressOf formats an IPv4 or MAC address.
func addressOf(bytes []byte) string {
	if len(bytes) == net.IPv4len {
		return net.IP(bytes).String()
	}

	return net.HardwareAddr(bytes).String()
}
