// SPDX-License-Identifier: Apache-2.0

package router

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/seed-59268b81/talos/lab/nat"
)

func fuzzed() Config {
	return Config{
		Legs: []Leg{
			{Name: "site", MAC: siteCard, Addresses: prefixes("10.0.0.1/24", "2001:db8:1::1/64")},
			{
				Name: "world", MAC: worldCard, Addresses: prefixes("198.51.100.1/24", "2001:db8:2::1/64"), MTU: 1280,
				Setting: Setting{NAT: &nat.Config{
					Filtering: nat.EndpointIndependent, Hairpin: nat.HairpinExternal,
					Forwards: []nat.Forward{{Protocol: nat.UDP, Port: 7, To: at("10.0.0.2:8")}},
				}},
			},
		},
		Routes: []Route{{Destination: prefix("0.0.0.0/0"), Gateway: netip.MustParseAddr("198.51.100.2")}},
	}
}

// FuzzReceive sends any bytes to a router with known neighbors. Its frames must fit their leg, and the input must not
// change.
func FuzzReceive(f *testing.F) {
	for _, frame := range [][]byte{
		fromSite("10.0.0.2:5", "198.51.100.2:7", 64, 9), fromSite("10.0.0.2:5", "198.51.100.1:7", 64, 9), fromSite("10.0.0.2:5", "192.0.2.1:7", 64, 1400),
		fromSite("[2001:db8:1::2]:5", "[2001:db8:2::2]:7", 64, 9), fromWorld("198.51.100.2:5", "198.51.100.1:7", 1, 9),
		ping(siteHost, siteCard, "10.0.0.2", "10.0.0.1"), ping6("2001:db8:1::2", "2001:db8:1::1"), solicitation("2001:db8:1::2", "2001:db8:1::1"),
		arpFrame(layers.ARPRequest, siteHost, broadcast, netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.1")),
	} {
		f.Add(false, frame)
		f.Add(true, frame)
	}

	f.Fuzz(func(t *testing.T, world bool, frame []byte) {
		core := newCore(t, fuzzed())
		now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		core.begin(now)
		core.learn(core.legs[0], netip.MustParseAddr("10.0.0.2"), siteHost, true)
		core.learn(core.legs[1], netip.MustParseAddr("198.51.100.2"), worldHost, true)

		leg := 0
		if world {
			leg = 1
		}

		before := bytes.Clone(frame)

		for _, out := range core.Receive(leg, frame, now) {
			l := core.legs[out.Leg]
			if HardwareAddr(out.Data[6:]) != l.MAC || len(out.Data) > etherLen+l.MTU {
				t.Fatalf("% x became % x", before, out.Data)
			}

			if binary.BigEndian.Uint16(out.Data[12:]) == uint16(layers.EthernetTypeIPv4) && !sumValid(out.Data[etherLen:][:4*(out.Data[etherLen]&15)]) {
				t.Fatalf("% x became % x, whose header has a wrong checksum", before, out.Data)
			}
		}

		if !bytes.Equal(frame, before) {
			t.Fatal("the input was changed")
		}

		for range 2 * probes {
			if due, waits := core.Next(); waits {
				core.Tick(due)
			}
		}
	})
}

func BenchmarkForward(b *testing.B) {
	for _, name := range []string{"plain", "NAT"} {
		for _, size := range []int{60, 1500} {
			b.Run(fmt.Sprintf("%s/bytes=%d", name, size), func(b *testing.B) {
				cfg := fuzzed()
				if cfg.Legs[1].MTU = 1500; name == "plain" {
					cfg.Legs[1].NAT = nil
				}

				core := newCore(b, cfg)
				now := time.Now()
				core.begin(now)
				core.learn(core.legs[1], netip.MustParseAddr("198.51.100.2"), worldHost, true)

				frame := fromSite("10.0.0.2:5000", "198.51.100.2:7", 64, size-28)

				b.SetBytes(int64(size))
				b.ReportAllocs()

				for b.Loop() {
					if len(core.Receive(0, frame, now)) != 1 {
						b.Fatal("not forwarded")
					}
				}
			})
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Config)
	}{
		{"one leg", func(c *Config) { c.Legs = c.Legs[:1]; c.Routes = nil }},
		{"two legs of one name", func(c *Config) { c.Legs[1].Name = "site" }},
		{"no name", func(c *Config) { c.Legs[1].Name = "" }},
		{"no addresses", func(c *Config) { c.Legs[0].Addresses = nil }},
		{"a multicast address", func(c *Config) { c.Legs[0].Addresses = prefixes("224.0.0.1/4") }},
		{"no card", func(c *Config) { c.Legs[0].MAC = HardwareAddr{} }},
		{"a group's card", func(c *Config) { c.Legs[0].MAC = broadcast }},
		{"an MTU too small for IPv6", func(c *Config) { c.Legs[0].MTU = 1279 }},
		{"a NAT that is wrong", func(c *Config) { c.Legs[1].NAT.Mapping = "open" }},
		{"a NAT with another's address", func(c *Config) { c.Legs[1].NAT.External = netip.MustParseAddr("10.0.0.1") }},
		{"a NAT without IPv4", func(c *Config) { c.Legs[1].Addresses = prefixes("2001:db8:2::1/64") }},
		{"a gateway of another kind", func(c *Config) { c.Routes[0].Gateway = netip.MustParseAddr("2001:db8:2::2") }},
		{"a gateway that is nowhere", func(c *Config) { c.Routes[0].Gateway = netip.MustParseAddr("192.0.2.1") }},
		{"a route over no leg", func(c *Config) { c.Routes[0].Leg = "moon" }},
	}

	if err := fuzzed().Validate(); err != nil {
		t.Error(err)
	}

	for _, tt := range tests {
		cfg := fuzzed()
		tt.edit(&cfg)

		if _, err := NewCore(cfg); err == nil {
			t.Errorf("%s: accepted", tt.name)
		}
	}
}
