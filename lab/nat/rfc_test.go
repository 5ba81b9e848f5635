// SPDX-License-Identifier: Apache-2.0

package nat

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The endpoints of the tables: two hosts inside, the NAT, two servers.
const (
	hostA    = "10.0.0.1:5000"
	hostB    = "10.0.0.2:5000"
	serverX  = "192.0.2.1:80"
	serverX2 = "192.0.2.1:81"
	serverY  = "192.0.2.2:80"
	external = "198.51.100.1"
)

// step is a packet with its verdict or its new endpoints.
type step struct {
	after    time.Duration
	dir      Direction
	proto    uint8
	from, to string
	flags    segment
	want     string
}

func out(proto uint8, from, to, want string) step {
	return step{0, Outbound, proto, from, to, "S", want}
}

func in(proto uint8, from, to, want string) step { return step{0, Inbound, proto, from, to, "S", want} }

func (s step) later(d time.Duration) step { s.after = d; return s }

func (s step) with(flags segment) step { s.flags = flags; return s }

func ext(port int) string { return fmt.Sprintf("%s:%d", external, port) }

// TestRFC tests the requirements of RFC 4787 (UDP), 5382 (TCP) and 5508 (ICMP) as histories.
func TestRFC(t *testing.T) {
	const (
		min = time.Minute
		s   = time.Second
	)

	outX := ext(5000) + " > " + serverX
	backX := serverX + " > " + hostA

	tests := []struct {
		name  string
		cfg   Config
		steps []step
	}{
		{"4787 4.1: endpoint-independent mapping", Config{}, []step{
			out(udp, hostA, serverX, outX), out(udp, hostA, serverX2, ext(5000)+" > "+serverX2), out(udp, hostA, serverY, ext(5000)+" > "+serverY),
		}},
		{"4787 4.1: address-dependent mapping", Config{Mapping: AddressDependent}, []step{
			out(udp, hostA, serverX, outX), out(udp, hostA, serverX2, ext(5000)+" > "+serverX2), out(udp, hostA, serverY, ext(5001)+" > "+serverY),
			out(udp, hostA, serverX, outX),
		}},
		{"4787 4.1: address and port-dependent mapping", Config{Mapping: AddressAndPortDependent}, []step{
			out(udp, hostA, serverX, outX), out(udp, hostA, serverX2, ext(5001)+" > "+serverX2), out(udp, hostA, serverY, ext(5002)+" > "+serverY),
		}},
		{"4787 REQ-3: no port is given twice", Config{}, []step{
			out(udp, hostA, serverX, outX), out(udp, hostB, serverX, ext(5001)+" > "+serverX), in(udp, serverX, ext(5001), serverX+" > "+hostB),
			// TCP has other ports.
			out(tcp, hostB, serverX, outX),
		}},
		{"ports in sequence", Config{Allocation: Sequential, FirstPort: 2000}, []step{
			out(udp, hostA, serverX, ext(2000)+" > "+serverX), out(udp, hostB, serverX, ext(2001)+" > "+serverX),
		}},
		{"ports are exhausted, and free again", Config{FirstPort: 7, LastPort: 7}, []step{
			out(udp, hostA, serverX, ext(7)+" > "+serverX), out(udp, hostB, serverX, "exhausted"),
			out(udp, hostB, serverX, ext(7)+" > "+serverX).later(5 * min),
		}},
		{"sessions are bounded", Config{Sessions: 2}, []step{
			out(udp, hostA, serverX, outX), out(udp, hostA, serverY, ext(5000)+" > "+serverY), out(udp, hostA, serverX2, "exhausted"),
			out(udp, hostA, serverX2, ext(5000)+" > "+serverX2).later(5 * min),
		}},
		{"4787 REQ-5: a mapping lives five minutes", Config{}, []step{
			out(udp, hostA, serverX, outX), in(udp, serverX, ext(5000), backX).later(5*min - 1), in(udp, serverX, ext(5000), "no mapping").later(1),
		}},
		{"4787 REQ-6: outbound refresh", Config{}, []step{
			out(udp, hostA, serverX, outX), out(udp, hostA, serverX, outX).later(4 * min), in(udp, serverX, ext(5000), backX).later(4 * min),
			// Inbound packets do not refresh: the mapping ends five minutes after the last outbound one.
			in(udp, serverX, ext(5000), "no mapping").later(2 * min),
		}},
		{"4787 REQ-6: inbound refresh where it is asked for", Config{RefreshInbound: true}, []step{
			out(udp, hostA, serverX, outX), in(udp, serverX, ext(5000), backX).later(4 * min), in(udp, serverX, ext(5000), backX).later(4 * min),
		}},
		{"4787 REQ-6: strangers keep no mapping alive", Config{Filtering: EndpointIndependent}, []step{
			out(udp, hostA, serverX, outX), in(udp, serverY, ext(5000), serverY+" > "+hostA).later(4 * min), in(udp, serverY, ext(5000), "no mapping").later(2 * min),
		}},
		{"4787 5: endpoint-independent filtering", Config{Filtering: EndpointIndependent}, []step{
			in(udp, serverX, ext(5000), "no mapping"), out(udp, hostA, serverX, outX), in(udp, serverY, ext(5000), serverY+" > "+hostA),
		}},
		{"4787 5: address-dependent filtering", Config{Filtering: AddressDependent}, []step{
			out(udp, hostA, serverX, outX), in(udp, serverX2, ext(5000), serverX2+" > "+hostA), in(udp, serverY, ext(5000), "filtered"),
		}},
		{"what was let in opens no filter", Config{Filtering: AddressDependent}, []step{
			out(udp, hostA, serverX, outX), in(udp, serverX2, ext(5000), serverX2+" > "+hostA).later(4 * min), out(udp, hostA, serverY, ext(5000)+" > "+serverY),
			in(udp, serverX2, ext(5000), "filtered").later(2 * min),
		}},
		{"4787 5: address and port-dependent filtering", Config{}, []step{
			out(udp, hostA, serverX, outX), in(udp, serverX2, ext(5000), "filtered"), in(udp, serverX, ext(5000), backX),
		}},
		{"an answer goes through the mapping that was asked", Config{Mapping: AddressAndPortDependent, Filtering: EndpointIndependent}, []step{
			out(udp, hostA, serverX, outX), in(udp, serverY, ext(5000), serverY+" > "+hostA), out(udp, hostA, serverY, ext(5000)+" > "+serverY),
		}},
		{"4787 REQ-9: hairpin, external source", Config{Hairpin: HairpinExternal, Filtering: EndpointIndependent}, []step{
			out(udp, hostB, serverX, outX), out(udp, hostA, ext(5000), ext(5001)+" > "+hostB), out(udp, hostB, ext(5001), ext(5000)+" > "+hostA),
		}},
		{"hairpin, internal source", Config{Hairpin: HairpinInternal, Filtering: EndpointIndependent}, []step{
			out(udp, hostB, serverX, outX), out(udp, hostA, ext(5000), hostA+" > "+hostB),
		}},
		{"hairpin off, without a mapping", Config{}, []step{out(udp, hostA, ext(5000), "no hairpin")}},
		{"a hairpin is filtered too", Config{Hairpin: HairpinExternal}, []step{
			out(udp, hostB, serverX, outX), out(udp, hostA, ext(5000), "filtered"), out(udp, hostB, ext(5001), ext(5000)+" > "+hostA),
			out(udp, hostA, ext(5000), ext(5001)+" > "+hostB),
		}},
		{"5382 REQ-2: a connection", Config{}, []step{
			out(tcp, hostA, serverX, outX), in(tcp, serverX, ext(5000), backX).with("SA"), out(tcp, hostA, serverX, outX).with("A"),
			in(tcp, serverX, ext(5000), backX).with("A").later(2 * time.Hour), in(tcp, serverX, ext(5000), "no mapping").with("A").later(124 * min),
		}},
		{"5382 REQ-2: simultaneous open", Config{}, []step{
			out(tcp, hostA, serverX, outX), in(tcp, serverX, ext(5000), backX), out(tcp, hostA, serverX, outX).with("SA").later(3 * min),
			in(tcp, serverX, ext(5000), backX).with("A").later(2 * time.Hour),
		}},
		{"5382 REQ-3: unsolicited opening of a mapping", Config{Filtering: EndpointIndependent}, []step{
			out(tcp, hostA, serverX, outX), in(tcp, serverY, ext(5000), serverY+" > "+hostA), in(tcp, serverX2, ext(5000), "no mapping").with("A"),
			out(tcp, hostA, serverY, ext(5000)+" > "+serverY).with("SA"),
		}},
		{"5382 REQ-5: the transitory timeout", Config{}, []step{
			out(tcp, hostA, serverX, outX), in(tcp, serverX, ext(5000), "no mapping").with("SA").later(4 * min),
		}},
		{"5382 REQ-5: closed by both", Config{}, []step{
			out(tcp, hostA, serverX, outX), in(tcp, serverX, ext(5000), backX).with("SA"), out(tcp, hostA, serverX, outX).with("FA"),
			in(tcp, serverX, ext(5000), backX).with("A").later(time.Hour), in(tcp, serverX, ext(5000), backX).with("FA"),
			out(tcp, hostA, serverX, outX).with("A").later(s), out(tcp, hostA, serverX, "no mapping").with("A").later(4 * min),
		}},
		{"5382 REQ-5: reset, and opened again", Config{}, []step{
			out(tcp, hostA, serverX, outX), in(tcp, serverX, ext(5000), backX).with("SA"), in(tcp, serverX, ext(5000), backX).with("R"),
			out(tcp, hostA, serverX, outX).later(min), in(tcp, serverX, ext(5000), backX).with("SA"), in(tcp, serverX, ext(5000), backX).with("A").later(time.Hour),
		}},
		{"a segment of no connection", Config{}, []step{out(tcp, hostA, serverX, "no mapping").with("A"), out(tcp, hostA, serverX, "no mapping").with("SA")}},
		{"5508 REQ-1: queries", Config{}, []step{
			out(icmp, hostA, "192.0.2.1:0", ext(5000)+" > 192.0.2.1:0"), out(icmp, hostB, "192.0.2.1:0", ext(5001)+" > 192.0.2.1:0"),
			in(icmp, "192.0.2.1:0", ext(5001), "192.0.2.1:0 > "+hostB).with("reply"), in(icmp, "192.0.2.2:0", ext(5001), "filtered").with("reply"),
			in(icmp, "192.0.2.1:0", ext(5001), "no mapping").with("reply").later(min),
		}},
		{"an echo request to the NAT itself", Config{}, []step{in(icmp, "192.0.2.1:7", ext(0), "local"), out(icmp, hostA, ext(0), "local")}},
		{"a forward", Config{Forwards: []Forward{{UDP, 54, at(hostB)}, {TCP, 443, at(hostA)}}}, []step{
			in(udp, serverX, ext(54), serverX+" > "+hostB), out(udp, hostB, serverX, ext(54)+" > "+serverX).later(24 * time.Hour),
			in(tcp, serverX, ext(443), backX), out(tcp, hostA, serverX, ext(443)+" > "+serverX).with("SA"), in(tcp, serverX, ext(443), backX).with("A"),
			in(tcp, serverX, ext(54), "no mapping"),
		}},
		{"a forward from inside", Config{Hairpin: HairpinExternal, Forwards: []Forward{{TCP, 443, at(hostB)}}}, []step{
			out(tcp, hostA, ext(443), ext(5000)+" > "+hostB), out(tcp, hostB, ext(5000), ext(443)+" > "+hostA).with("SA"),
		}},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.External = at(external + ":0").Addr()

			table, err := New(tt.cfg)
			if err != nil {
				t.Fatal(err)
			}

			now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

			for i, s := range tt.steps {
				now = now.Add(s.after)
				b := probe(t, s.proto, at(s.from), at(s.to), s.flags, "hello")
				got := table.Translate(s.dir, b, now).String()

				if got == "pass" || got == "turn" {
					got = arrow(t, b)
				}

				if d := cmp.Diff(s.want, got); d != "" {
					t.Errorf("step %d, %s > %s (-want +got):\n%s", i, s.from, s.to, d)
				}
			}
		})
	}
}

// TestDoubleNAT sends a packet through two tables and the answer back.
func TestDoubleNAT(t *testing.T) {
	inner, err := New(Config{External: at("100.64.0.9:0").Addr(), Mapping: AddressAndPortDependent, FirstPort: 2000, Allocation: Sequential})
	if err != nil {
		t.Fatal(err)
	}

	outer, err := New(Config{External: at(external + ":0").Addr(), FirstPort: 3000, Allocation: Sequential})
	if err != nil {
		t.Fatal(err)
	}

	now := time.Now()
	b := probe(t, udp, at(hostA), at(serverX), "", "question")

	for _, table := range []*Table{inner, outer} {
		if v := table.Translate(Outbound, b, now); v != Pass {
			t.Fatalf("got %v, want %v", v, Pass)
		}
	}

	if got, want := arrow(t, b), ext(3000)+" > "+serverX; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	b = probe(t, udp, at(serverX), at(ext(3000)), "", "answer")

	for _, table := range []*Table{outer, inner} {
		if v := table.Translate(Inbound, b, now); v != Pass {
			t.Fatalf("got %v, want %v", v, Pass)
		}
	}

	if got, want := arrow(t, b), serverX+" > "+hostA; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
