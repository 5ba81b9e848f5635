// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/seed-59268b81/talos/api/machine"
)

func TestParseFilter(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []*machine.BPFInstruction
		err        string
	}{
		{name: "empty"},
		{
			name: "tcpdump -dd arp", text: "{ 0x28, 0, 0, 0x0000000c },\n{ 0x15, 0, 1, 0x00000806 },\n{ 0x6, 0, 0, 0x00040000 },\n",
			want: []*machine.BPFInstruction{{Op: 0x28, K: 12}, {Op: 0x15, Jf: 1, K: 0x806}, {Op: 6, K: 0x40000}},
		},
		{name: "one line", text: "{0x28,0,0,12} { 6, 0, 0, 1 }", want: []*machine.BPFInstruction{{Op: 0x28, K: 12}, {Op: 6, K: 1}}},
		{name: "expression", text: "port 53", err: "tcpdump -dd EXPRESSION"},
		{name: "jump too far", text: "{ 0x28, 256, 0, 0 }", err: `"256" is not a number of 8 bits`},
		{name: "too long", text: strings.Repeat("{6,0,0,1}\n", maxInstructions+1), err: "want at most 4096"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseFilter(tt.text)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}

				return
			}

			if diff := cmp.Diff(tt.want, got, protocmp.Transform()); err != nil || diff != "" {
				t.Errorf("got %v, (-want +got):\n%s", err, diff)
			}
		})
	}
}

func FuzzParseFilter(f *testing.F) {
	f.Add("{ 0x28, 0, 0, 0x0000000c },\n{ 6, 0, 0, 1 }")
	f.Fuzz(func(t *testing.T, text string) {
		program, err := ParseFilter(text)
		if err == nil && len(program) > maxInstructions {
			t.Errorf("got %d instructions", len(program))
		}
	})
}

// capture returns a pcap file.
func capture(t testing.TB, packets ...[]gopacket.SerializableLayer) []byte {
	t.Helper()

	var file bytes.Buffer

	w := pcapgo.NewWriter(&file)
	if err := w.WriteFileHeader(65536, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}

	for _, packet := range packets {
		b := gopacket.NewSerializeBuffer()
		if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, packet...); err != nil {
			t.Fatal(err)
		}

		info := gopacket.CaptureInfo{Timestamp: time.Unix(1, 5000).UTC(), CaptureLength: len(b.Bytes()), Length: len(b.Bytes())}
		if err := w.WritePacket(info, b.Bytes()); err != nil {
			t.Fatal(err)
		}
	}

	return file.Bytes()
}

func samples(t testing.TB) []byte {
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 1}
	ethernet := func(typ layers.EthernetType) *layers.Ethernet {
		return &layers.Ethernet{SrcMAC: mac, DstMAC: mac, EthernetType: typ}
	}
	from, to := net.IP{10, 0, 0, 1}, net.IP{10, 0, 0, 2}
	v4 := func(p layers.IPProtocol) *layers.IPv4 {
		return &layers.IPv4{Version: 4, TTL: 64, SrcIP: from, DstIP: to, Protocol: p}
	}
	v6 := &layers.IPv6{Version: 6, SrcIP: net.ParseIP("fd00::1"), DstIP: net.ParseIP("fd00::2"), NextHeader: layers.IPProtocolTCP}
	query := &layers.DNS{ID: 1, Questions: []layers.DNSQuestion{{Name: []byte("talos.dev"), Type: layers.DNSTypeA, Class: layers.DNSClassIN}}}

	return capture(t,
		[]gopacket.SerializableLayer{ethernet(layers.EthernetTypeIPv4), v4(layers.IPProtocolTCP), &layers.TCP{SrcPort: 50000, DstPort: 40000, SYN: true, ACK: true, Seq: 1, Ack: 2, Window: 3}},
		[]gopacket.SerializableLayer{ethernet(layers.EthernetTypeIPv6), v6, &layers.TCP{SrcPort: 1, DstPort: 2}, gopacket.Payload("data")},
		[]gopacket.SerializableLayer{ethernet(layers.EthernetTypeIPv4), v4(layers.IPProtocolUDP), &layers.UDP{SrcPort: 1, DstPort: 53}, query},
		[]gopacket.SerializableLayer{ethernet(layers.EthernetTypeIPv4), v4(layers.IPProtocolICMPv4), &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0)}},
		[]gopacket.SerializableLayer{ethernet(layers.EthernetTypeIPv4), v4(layers.IPProtocolIGMP)},
		[]gopacket.SerializableLayer{ethernet(layers.EthernetTypeARP), &layers.ARP{
			AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4, Operation: layers.ARPRequest,
			SourceHwAddress: mac, SourceProtAddress: from, DstHwAddress: mac, DstProtAddress: to,
		}},
		[]gopacket.SerializableLayer{ethernet(layers.EthernetTypeLLC), gopacket.Payload("?")},
		[]gopacket.SerializableLayer{gopacket.Payload("x")},
	)
}

func TestPrint(t *testing.T) {
	var got strings.Builder

	if err := Print(&got, bytes.NewReader(samples(t))); err != nil {
		t.Fatal(err)
	}

	const want = `00:00:01.000005 IP 10.0.0.1.50000 > 10.0.0.2.40000: TCP [S.], seq 1, ack 2, win 3, length 0
00:00:01.000005 IP6 fd00::1.1 > fd00::2.2: TCP [none], seq 0, ack 0, win 0, length 4
00:00:01.000005 IP 10.0.0.1.1 > 10.0.0.2.53: UDP, DNS query A "talos.dev", length 27
00:00:01.000005 IP 10.0.0.1 > 10.0.0.2: ICMP EchoRequest, length 60
00:00:01.000005 IP 10.0.0.1 > 10.0.0.2: IGMP, length 60
00:00:01.000005 ARP who has 10.0.0.2 tell 10.0.0.1, length 60
00:00:01.000005 02:00:00:00:00:01 > 02:00:00:00:00:01, LLC, length 60
00:00:01.000005 packet of 1 bytes that cannot be decoded
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPrintBroken(t *testing.T) {
	file := samples(t)

	var got strings.Builder

	if err := Print(&got, bytes.NewReader(nil)); err != nil || got.Len() > 0 {
		t.Errorf("nothing: got %v and %q", err, got.String())
	}

	for _, content := range [][]byte{[]byte("not a capture of packets"), file[:len(file)-20]} {
		if err := Print(&got, bytes.NewReader(content)); err == nil || !strings.Contains(err.Error(), "read capture") {
			t.Errorf("%d bytes: got %v, want an error", len(content), err)
		}
	}
}

func FuzzPrint(f *testing.F) {
	f.Add(samples(f))
	f.Fuzz(func(t *testing.T, file []byte) {
		var got strings.Builder

		_ = Print(&got, bytes.NewReader(file))
	})
}
