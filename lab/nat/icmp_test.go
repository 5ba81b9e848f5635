// SPDX-License-Identifier: Apache-2.0

package nat

import (
	"bytes"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// errorAbout returns an ICMP error with the part of a packet that a router quotes.
func errorAbout(t testing.TB, from, to string, packet []byte, most int) []byte {
	t.Helper()

	return build(t, ipv4(layers.IPProtocolICMPv4, at(from+":0").Addr(), at(to+":0").Addr()),
		&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodePort)},
		gopacket.Payload(packet[:min(len(packet), most)]))
}

// TestErrors answers packets of each protocol with an error, on both sides. The error must arrive with the packet as it
// was sent (RFC 5508, REQ-4 and REQ-5).
func TestErrors(t *testing.T) {
	now := time.Now()

	for name, most := range map[string]int{"whole": 2000, "eight bytes": 28} {
		for proto, what := range map[uint8]string{udp: "udp", tcp: "tcp", icmp: "icmp"} {
			t.Run(what+" "+name, func(t *testing.T) {
				table, err := New(Config{External: at(external + ":0").Addr(), Allocation: Sequential, FirstPort: 2000, Filtering: EndpointIndependent})
				if err != nil {
					t.Fatal(err)
				}

				sent := probe(t, proto, at(hostA), at(serverX), "S", "hello")
				b := bytes.Clone(sent)

				if v := table.Translate(Outbound, b, now); v != Pass {
					t.Fatalf("got %v, want %v", v, Pass)
				}

				e := errorAbout(t, "203.0.113.5", external, b, most)
				if v := table.Translate(Inbound, e, now); v != Pass {
					t.Fatalf("error from outside: got %v, want %v", v, Pass)
				}

				wantError(t, e, "203.0.113.5 > 10.0.0.1", sent, most)

				answer := probe(t, proto, at(serverX), at(ext(2000)), map[bool]segment{true: "reply", false: "SA"}[proto == icmp], "hello")
				b = bytes.Clone(answer)

				if v := table.Translate(Inbound, b, now); v != Pass {
					t.Fatalf("got %v, want %v", v, Pass)
				}

				e = errorAbout(t, "10.0.0.1", "192.0.2.1", b, most)
				if v := table.Translate(Outbound, e, now); v != Pass {
					t.Fatalf("error from inside: got %v, want %v", v, Pass)
				}

				wantError(t, e, external+" > 192.0.2.1", answer, most)

				// Errors do not refresh mappings, and those about unknown packets are dropped.
				late := now.Add(DefaultTCPEstablishedTimeout)

				e = errorAbout(t, "203.0.113.5", external, sent, most)
				if v := table.Translate(Inbound, e, late); v != NoMapping {
					t.Errorf("error about no mapping: got %v, want %v", v, NoMapping)
				}
			})
		}
	}
}

func wantError(t *testing.T, got []byte, ends string, packet []byte, most int) {
	t.Helper()

	p := gopacket.NewPacket(got, layers.LayerTypeIPv4, gopacket.NoCopy)
	checkSums(t, p)

	ip, _ := p.NetworkLayer().(*layers.IPv4)
	if got := ip.SrcIP.String() + " > " + ip.DstIP.String(); got != ends {
		t.Errorf("got an error %s, want %s", got, ends)
	}

	message, _ := p.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
	if want := packet[:min(len(packet), most)]; !bytes.Equal(message.Payload, want) {
		t.Errorf("the error carries\n% x, want\n% x", message.Payload, want)
	}
}

// TestBrokenErrors sends errors that must be dropped (RFC 5508, REQ-3).
func TestBrokenErrors(t *testing.T) {
	now := time.Now()
	sent := probe(t, udp, at(ext(5000)), at(serverX), "", "hello")

	badInside := bytes.Clone(sent)
	badInside[10] ^= 1

	badSum := errorAbout(t, "203.0.113.5", external, sent, 2000)
	badSum[len(badSum)-1] ^= 1

	later := bytes.Clone(sent)
	later[7], later[10], later[11] = 1, 0, 0 // a fragment, with the right sum
	later = build(t, &layers.IPv4{Version: 4, TTL: 1, FragOffset: 1, Protocol: layers.IPProtocolUDP, SrcIP: at(ext(0)).Addr().AsSlice(), DstIP: at(serverX).Addr().AsSlice()}, gopacket.Payload("12345678"))

	for name, b := range map[string][]byte{
		"checksum":                      badSum,
		"header checksum of the packet": errorAbout(t, "203.0.113.5", external, badInside, 2000),
		"too little of the packet":      errorAbout(t, "203.0.113.5", external, sent, 27),
		"about a later fragment":        errorAbout(t, "203.0.113.5", external, later, 2000),
		"about nothing":                 errorAbout(t, "203.0.113.5", external, nil, 0),
	} {
		table, err := New(Config{External: at(external + ":0").Addr()})
		if err != nil {
			t.Fatal(err)
		}

		table.Translate(Outbound, probe(t, udp, at(hostA), at(serverX), "", "hello"), now)

		if v := table.Translate(Inbound, b, now); v != Malformed {
			t.Errorf("%s: got %v, want %v", name, v, Malformed)
		}
	}
}

// TestHairpinError sends an ICMP error about a hairpinned packet (RFC 5508, REQ-7).
func TestHairpinError(t *testing.T) {
	now := time.Now()

	table, err := New(Config{External: at(external + ":0").Addr(), Hairpin: HairpinExternal, Filtering: EndpointIndependent})
	if err != nil {
		t.Fatal(err)
	}

	table.Translate(Outbound, probe(t, udp, at(hostB), at(serverX), "", ""), now)

	sent := probe(t, udp, at(hostA), at(ext(5000)), "", "hello")
	b := bytes.Clone(sent)

	if v := table.Translate(Outbound, b, now); v != Turn {
		t.Fatalf("got %v, want %v", v, Turn)
	}

	e := errorAbout(t, "10.0.0.2", external, b, 2000)
	if v := table.Translate(Outbound, e, now); v != Turn {
		t.Fatalf("the error: got %v, want %v", v, Turn)
	}

	wantError(t, e, external+" > 10.0.0.1", sent, 2000)
}
