// SPDX-License-Identifier: Apache-2.0

package nat

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// FuzzTranslate sends any bytes through a table with mappings. A packet that passes must be valid, of the same length,
// and from or to the external address. In its payload only the endpoints may differ.
func FuzzTranslate(f *testing.F) {
	for _, proto := range []uint8{udp, tcp, icmp} {
		b := probe(f, proto, at(hostA), at(serverX), "S", "hello")
		f.Add(true, b)
		f.Add(true, errorAbout(f, "10.0.0.1", "192.0.2.1", b, 28))
		f.Add(true, probe(f, proto, at(hostA), at(ext(5000)), "S", "hello"))

		b = probe(f, proto, at(serverX), at(ext(5000)), "SA", "hello")
		f.Add(false, b)
		f.Add(false, errorAbout(f, "203.0.113.5", external, probe(f, proto, at(ext(5000)), at(serverX), "S", "hello"), 28))
	}

	f.Fuzz(func(t *testing.T, outbound bool, b []byte) {
		now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

		table, err := New(Config{External: at(external + ":0").Addr(), Hairpin: HairpinExternal, Filtering: EndpointIndependent})
		if err != nil {
			t.Fatal(err)
		}

		for _, proto := range []uint8{udp, tcp, icmp} {
			table.Translate(Outbound, probe(t, proto, at(hostA), at(serverX), "S", ""), now)
		}

		d := Inbound
		if outbound {
			d = Outbound
		}

		before := bytes.Clone(b)

		if v := table.Translate(d, b, now); v != Pass && v != Turn {
			return
		}

		ip := header.IPv4(b)
		if !ip.IsValid(len(b)) || !ip.IsChecksumValid() {
			t.Fatalf("% x became % x, which is not a packet", before, b)
		}

		if addr := [4]byte{198, 51, 100, 1}; outbound && [4]byte(ip.SourceAddressSlice()) != addr {
			t.Fatalf("% x became % x, which is not from the external address", before, b)
		}

		changed := 0

		for i := range b {
			if b[i] != before[i] {
				changed++
			}
		}

		// Two addresses, two ports and two checksums, and as much in an error again.
		if changed > 40 {
			t.Fatalf("% x became % x: %d bytes differ", before, b, changed)
		}
	})
}

func BenchmarkTranslate(b *testing.B) {
	for _, proto := range []uint8{udp, tcp} {
		for _, sessions := range []int{1, 10000} {
			for d, name := range map[Direction]string{Outbound: "out", Inbound: "in"} {
				b.Run(fmt.Sprintf("%s/%s/sessions=%d", map[uint8]string{tcp: "tcp", udp: "udp", icmp: "icmp"}[proto], name, sessions), func(b *testing.B) {
					now := time.Now()

					table, err := New(Config{External: at(external + ":0").Addr()})
					if err != nil {
						b.Fatal(err)
					}

					for i := range sessions {
						table.Translate(Outbound, probe(b, proto, at(fmt.Sprintf("10.0.%d.%d:5000", i/250, 1+i%250)), at(serverX), "S", ""), now)
					}

					packet := probe(b, proto, at("10.0.0.1:5000"), at(serverX), "S", string(make([]byte, 1400)))
					if d == Inbound {
						packet = probe(b, proto, at(serverX), at(ext(5000)), "SA", string(make([]byte, 1400)))
					}

					one := make([]byte, len(packet))

					b.SetBytes(int64(len(packet)))
					b.ReportAllocs()

					for b.Loop() {
						copy(one, packet)

						if v := table.Translate(d, one, now); v != Pass {
							b.Fatal(v)
						}
					}
				})
			}
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := Config{External: at(external + ":0").Addr()}

	tests := []struct {
		edit func(*Config)
		want string
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { c.External = at("[2001:db8::1]:0").Addr() }, "external address 2001:db8::1: want IPv4"},
		{func(c *Config) { c.External = at(external + ":0").Addr(); c.Mapping = "open" }, `mapping "open": want one of ["endpoint-independent" "address-dependent" "address-and-port-dependent"]`},
		{func(c *Config) { c.Allocation = "any" }, `allocation "any": want preserve, sequential or random`},
		{func(c *Config) { c.Hairpin = "on" }, `hairpin "on": want external or internal, or nothing`},
		{func(c *Config) { c.FirstPort, c.LastPort = 9, 8 }, "ports 9 to 8: the first is after the last"},
		{func(c *Config) { c.UDPTimeout = -1 }, "timeouts -1ns, 2h4m0s, 4m0s, 1m0s: must not be negative"},
		{func(c *Config) { c.Forwards = []Forward{{"sctp", 1, at(hostA)}} }, "forward of sctp port 1 to 10.0.0.1:5000: the protocol is neither tcp nor udp"},
		{func(c *Config) { c.Forwards = []Forward{{TCP, 0, at(hostA)}} }, "forward of tcp port 0 to 10.0.0.1:5000: a port is missing"},
		{func(c *Config) { c.Forwards = []Forward{{TCP, 1, at(hostA)}, {TCP, 1, at(hostB)}} }, "forward of tcp port 1 to 10.0.0.2:5000: the port has two forwards"},
		{func(c *Config) { c.Forwards = []Forward{{TCP, 1, at(hostA)}, {TCP, 2, at(hostA)}} }, "forward of tcp port 2 to 10.0.0.1:5000: the internal endpoint has two forwards"},
	}

	for _, tt := range tests {
		cfg := good
		tt.edit(&cfg)

		got := ""
		if _, err := New(cfg); err != nil {
			got = err.Error()
		}

		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}

	if _, err := New(Config{}); err == nil {
		t.Error("a NAT without an external address was accepted")
	}
}
