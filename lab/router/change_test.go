// SPDX-License-Identifier: Apache-2.0

package router

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/lab/nat"
	"github.com/seed-59268b81/talos/lab/netswitch"
)

// TestChange changes a running router, and each time asks a server on the other side for the source of a packet.
func TestChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, world := netswitch.New(1), netswitch.New(1)

		r, err := Start(Config{Legs: []Leg{
			{Name: "site", MAC: siteCard, Addresses: prefixes("10.0.0.1/24")},
			{Name: "world", MAC: worldCard, Addresses: prefixes("198.51.100.1/24")},
		}}, []Plug{{site, "router"}, {world, "site"}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()

		var seen string

		plug := func(sw *netswitch.Switch, h *host) {
			port := sw.Attach(h.addr.String(), h.receive)
			t.Cleanup(port.Close)

			h.send = port.Send
		}
		client := &host{mac: siteHost, gateway: siteCard, addr: netip.MustParseAddr("10.0.0.2"), answer: func(_ uint16, _ netip.AddrPort, payload string) []byte {
			seen = payload

			return nil
		}}
		plug(site, client)
		plug(world, &host{mac: worldHost, gateway: worldCard, addr: netip.MustParseAddr("198.51.100.2"), answer: func(_ uint16, from netip.AddrPort, _ string) []byte {
			return []byte(from.String())
		}})

		ask := func() string {
			seen = "no answer"
			client.datagram(5000, at("198.51.100.2:7"), "who am I")
			time.Sleep(time.Second)
			synctest.Wait()

			return seen
		}

		sequential := func() Setting {
			return Setting{NAT: &nat.Config{Allocation: nat.Sequential, FirstPort: 7000}}
		}

		steps := []struct {
			name   string
			change func() error
			want   string
		}{
			{"a plain router", func() error { return nil }, "10.0.0.2:5000"},
			{"a NAT", func() error { return r.Set("world", Setting{NAT: &nat.Config{}}) }, "198.51.100.1:5000"},
			{"another NAT", func() error { return r.Set("world", sequential()) }, "198.51.100.1:7000"},
			{"UDP blocked", func() error {
				s := sequential()
				s.BlockUDP = true

				return r.Set("world", s)
			}, "no answer"},
			{"UDP not blocked", func() error { return r.Set("world", sequential()) }, "198.51.100.1:7000"},
		}

		for _, s := range steps {
			if err := s.change(); err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}

			if got := ask(); got != s.want {
				t.Errorf("%s: got %s, want %s", s.name, got, s.want)
			}
		}

		for _, err := range []error{
			r.Set("moon", Setting{}), r.Set("moon", Setting{BlockUDP: true, SilentTooBig: true}),
			r.Set("world", Setting{NAT: &nat.Config{Mapping: "open"}}), r.Set("world", Setting{NAT: &nat.Config{External: at("10.0.0.1:0").Addr()}}),
		} {
			if err == nil {
				t.Error("a wrong change was accepted")
			}
		}
	})
}
