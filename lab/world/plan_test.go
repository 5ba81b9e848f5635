// SPDX-License-Identifier: Apache-2.0

package world

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/nat"
	"github.com/seed-59268b81/talos/lab/router"
)

var (
	prefix  = netip.MustParsePrefix
	addr    = netip.MustParseAddr
	compare = cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})
)

// TestPlanAddresses assigns the addresses of two networks: one of both protocols, with some configured addresses, and
// one of only IPv6.
func TestPlanAddresses(t *testing.T) {
	w := World{Networks: []Network{
		{Name: "lab", Subnet4: prefix("10.5.0.77/24"), Subnet6: prefix("fd00:5::/64")},
		{Name: "six", Subnet6: prefix("fd00:6::/112"), MTU: 9000},
	}}
	machines := []Machine{
		{Name: "a", Cards: []Card{{Network: "lab"}, {Network: "six"}}},
		{Name: "b", Cards: []Card{{Network: "lab", Addr4: addr("10.5.0.2"), MAC: "52:54:00:00:00:99"}, {Network: "six"}, {Network: "lab", Unplugged: true}}},
	}

	if err := w.Plan(machines); err != nil {
		t.Fatal(err)
	}

	wantNetworks := []Network{
		{Name: "lab", Subnet4: prefix("10.5.0.0/24"), Subnet6: prefix("fd00:5::/64"), Gateway4: addr("10.5.0.1"), Gateway6: addr("fd00:5::1"), MTU: 1500},
		{Name: "six", Subnet6: prefix("fd00:6::/112"), Gateway6: addr("fd00:6::1"), MTU: 9000},
	}
	if d := cmp.Diff(wantNetworks, w.Networks, compare); d != "" {
		t.Errorf("networks (-want +got):\n%s", d)
	}

	want := []Machine{
		{Name: "a", Cards: []Card{
			{Network: "lab", MAC: "52:54:0a:05:00:03", Addr4: addr("10.5.0.3"), Addr6: addr("fd00:5::5054:aff:fe05:3")},
			{Network: "six", MAC: "52:54:fe:01:00:02", Addr6: addr("fd00:6::2")},
		}},
		{Name: "b", Cards: []Card{
			{Network: "lab", MAC: "52:54:00:00:00:99", Addr4: addr("10.5.0.2"), Addr6: addr("fd00:5::5054:ff:fe00:99")},
			{Network: "six", MAC: "52:54:fe:01:00:03", Addr6: addr("fd00:6::3")},
			{Network: "lab", MAC: "52:54:0a:05:00:04", Addr4: addr("10.5.0.4"), Addr6: addr("fd00:5::5054:aff:fe05:4"), Unplugged: true},
		}},
	}
	if d := cmp.Diff(want, machines, compare); d != "" {
		t.Errorf("machines (-want +got):\n%s", d)
	}

	if got, err := w.LastFree(&w.Networks[0], machines); err != nil || got != addr("10.5.0.254") {
		t.Errorf("last free address: got %v, %v, want 10.5.0.254", got, err)
	}
}

// TestPlanSites checks the default routes of sites' routers, one of them behind another one.
func TestPlanSites(t *testing.T) {
	w := World{}
	w.Add(
		Site{Name: "site-1", Subnet: prefix("10.5.0.0/24"), NAT: nat.Config{Mapping: nat.AddressDependent}},
		Site{Name: "site-2", Subnet: prefix("10.5.0.0/24"), BlockUDP: true}, // the same subnet, as homes have
	)
	w.Networks = append(w.Networks, Network{Name: "home", Subnet4: prefix("192.168.1.0/24"), Router: "home-router"})
	w.Routers = append(w.Routers, Router{Name: "home-router", Legs: []Leg{
		{Network: "home"}, {Network: "site-1", MTU: 1400, Setting: Setting{NAT: &nat.Config{}}},
	}})

	if err := w.Plan([]Machine{{Name: "a", Cards: []Card{{Network: "site-1"}}}, {Name: "b", Cards: []Card{{Network: "site-2"}}}}); err != nil {
		t.Fatal(err)
	}

	route := func(via string) []router.Route {
		return []router.Route{{Destination: prefix("0.0.0.0/0"), Gateway: addr(via)}}
	}
	want := []router.Config{
		{
			Legs: []router.Leg{
				{Name: "site-1", MAC: router.HardwareAddr{0x52, 0x54, 0xff, 0, 0, 1}, Addresses: []netip.Prefix{prefix("10.5.0.254/24")}, MTU: 1500},
				{
					Name: "internet", MAC: router.HardwareAddr{0x52, 0x54, 0xff, 0, 1, 1}, Addresses: []netip.Prefix{prefix("203.0.113.254/24")},
					MTU: 1500, Setting: router.Setting{NAT: &nat.Config{Mapping: nat.AddressDependent}},
				},
			},
			Routes: route("203.0.113.1"),
		},
		{
			Legs: []router.Leg{
				{Name: "site-2", MAC: router.HardwareAddr{0x52, 0x54, 0xff, 1, 0, 1}, Addresses: []netip.Prefix{prefix("10.5.0.254/24")}, MTU: 1500},
				{
					Name: "internet", MAC: router.HardwareAddr{0x52, 0x54, 0xff, 1, 1, 1}, Addresses: []netip.Prefix{prefix("203.0.113.253/24")},
					MTU: 1500, Setting: router.Setting{NAT: &nat.Config{}, BlockUDP: true},
				},
			},
			Routes: route("203.0.113.1"),
		},
		{
			Legs: []router.Leg{
				{Name: "home", MAC: router.HardwareAddr{0x52, 0x54, 0xff, 2, 0, 1}, Addresses: []netip.Prefix{prefix("192.168.1.254/24")}, MTU: 1500},
				{
					Name: "site-1", MAC: router.HardwareAddr{0x52, 0x54, 0xff, 2, 1, 1}, Addresses: []netip.Prefix{prefix("10.5.0.253/24")},
					MTU: 1400, Setting: router.Setting{NAT: &nat.Config{}},
				},
			},
			Routes: route("10.5.0.254"), // the site's router, not its gateway
		},
	}

	for i := range w.Routers {
		if d := cmp.Diff(want[i], w.RouterConfig(&w.Routers[i]), compare); d != "" {
			t.Errorf("router %s (-want +got):\n%s", w.Routers[i].Name, d)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	card := func(c Card) func(*World, []Machine) { return func(_ *World, m []Machine) { m[0].Cards[0] = c } }
	network := func(edit func(*Network)) func(*World, []Machine) {
		return func(w *World, _ []Machine) { edit(&w.Networks[0]) }
	}
	between := func(edit func(*Router)) func(*World, []Machine) {
		return func(w *World, _ []Machine) {
			r := Router{Name: "r", Legs: []Leg{{Network: "lab"}, {Network: "six"}}}
			edit(&r)
			w.Routers = append(w.Routers, r)
		}
	}

	tests := []struct {
		name string
		edit func(*World, []Machine)
		want string
	}{
		{"no network", func(w *World, _ []Machine) { w.Networks = nil }, "no network"},
		{"two of a name", network(func(n *Network) { n.Name = "six" }), `network "six": network six has that name`},
		{"a name that is taken", network(func(n *Network) { n.Name = "gateway" }), "the gateways"},
		{"an invalid name", network(func(n *Network) { n.Name = "My Net" }), `"My Net"`},
		{"no subnet", network(func(n *Network) { n.Subnet4 = netip.Prefix{} }), "Subnet4, Subnet6 or both"},
		{"IPv6 as IPv4", network(func(n *Network) { n.Subnet4 = prefix("fd00::/64") }), "want IPv4"},
		{"IPv4 as IPv6", network(func(n *Network) { n.Subnet6 = prefix("10.0.0.0/8") }), "want IPv6"},
		{"an MTU too small", network(func(n *Network) { n.MTU = 100 }), "MTU 100"},
		{"an MTU too small for IPv6", network(func(n *Network) { n.MTU, n.Subnet6 = 600, prefix("fd01::/64") }), "at least 1280"},
		{"a gateway elsewhere", network(func(n *Network) { n.Gateway4 = addr("10.6.0.1") }), "10.6.0.1 is not in network lab"},
		{"an unknown router", network(func(n *Network) { n.Router = "unknown" }), `there is no router "unknown": there is no router`},
		{"an unknown service", network(func(n *Network) { n.Services.Only = []gateway.Service{"smtp"} }), `"smtp"`},
		{"a behaviour that cannot be", network(func(n *Network) { n.Services.NTP.Leap = 9 }), "network lab: NTP"},
		{"a behaviour of no service", network(func(n *Network) { n.Services.Metadata.Silent = true }), "network lab: the service metadata does not run there"},
		{"a behaviour of another protocol", network(func(n *Network) { n.Services.DHCPv6.Silent = true }), "network lab: the service dhcpv6 does not run there"},
		{"a behaviour of a service left out", network(func(n *Network) {
			n.Services.Only = []gateway.Service{gateway.ServiceDNS}
			n.Services.NTP.Silent = true
		}), "network lab: the service ntp does not run there"},
		{"a second server on IPv6 alone", func(w *World, _ []Machine) {
			w.Networks = append(w.Networks, Network{Name: "far", Subnet6: prefix("fd00:7::/64"), Services: Services{SecondDHCP: &gateway.DHCPBehaviour{}}})
		}, "network far: a second DHCP server needs an IPv4 subnet"},
		{"a second server that cannot be", network(func(n *Network) { n.Services.SecondDHCP = &gateway.DHCPBehaviour{Delay: -1} }), "network lab: DHCP"},
		{"a full network", network(func(n *Network) { n.Subnet4 = prefix("10.5.0.0/30"); n.Gateway4 = addr("10.5.0.2"); n.Router = "" }), ""},
		{"a fuller network", network(func(n *Network) { n.Subnet4 = prefix("10.5.0.0/31") }), "no free address"},
		{"a router without a leg", func(w *World, m []Machine) {
			between(func(r *Router) {})(w, m)
			w.Networks = append(w.Networks, Network{Name: "far", Subnet4: prefix("10.7.0.0/24"), Router: "r"})
		}, "router r has no leg on it"},
		{"one leg", between(func(r *Router) { r.Legs = r.Legs[:1] }), "two legs"},
		{"an unknown network of a leg", between(func(r *Router) { r.Legs[0].Network = "x" }), `leg 0: there is no network "x": there is lab, six`},
		{"two legs on one network", between(func(r *Router) { r.Legs[1].Network = "lab" }), "two legs on network lab"},
		{"overlapping networks", func(w *World, m []Machine) {
			w.Networks[1].Subnet4 = prefix("10.5.0.0/16")
			between(func(*Router) {})(w, m)
		}, "overlap"},
		{"cards on overlapping networks", func(w *World, m []Machine) {
			w.Networks[1].Subnet4 = prefix("10.5.0.0/16")
			m[0].Cards = append(m[0].Cards, Card{Network: "six"})
		}, "machine a has cards on networks lab and six, whose subnets overlap"},
		{"a NAT that cannot be", between(func(r *Router) { r.Legs[0].NAT = &nat.Config{Mapping: "x"} }), `router r: leg "lab": NAT: mapping "x"`},
		{"no cards", func(_ *World, m []Machine) { m[0].Cards = nil }, "machine a has 0 network cards: want 1 to 8"},
		{"a card on no network", card(Card{Network: "x"}), `machine a: card 0: there is no network "x": there is lab, six`},
		{"a card of no address", card(Card{Network: "lab", MAC: "x"}), `hardware address "x"`},
		{"a card with a group's address", card(Card{Network: "lab", MAC: "53:54:00:00:00:01"}), "hardware address"},
		{"a card elsewhere", card(Card{Network: "lab", Addr4: addr("10.6.0.2")}), "machine a, card 0: address 10.6.0.2 is not in network lab"},
		{"a card with IPv6 as IPv4", card(Card{Network: "six", Addr4: addr("fd00:6::7")}), "address fd00:6::7: want IPv4"},
		{"a card with IPv4 as IPv6", card(Card{Network: "six", Addr6: addr("10.6.0.7")}), "address 10.6.0.7: want IPv6"},
		{"a card with a broadcast address", card(Card{Network: "lab", Addr4: addr("10.5.0.255")}), "10.5.0.255 is the network or the broadcast address of subnet 10.5.0.0/24"},
		{"a card with the gateway's hardware address", card(Card{Network: "lab", MAC: "52-54-00-00-00-01"}), "52:54:00:00:00:01 is taken by the gateway"},
		{"a card with a router's hardware address", func(w *World, m []Machine) {
			between(func(*Router) {})(w, m)
			m[0].Cards[0].MAC = w.LegMAC("r", "lab").String()
		}, "is taken by router r"},
		{"a hardware address that another card is given", func(_ *World, m []Machine) {
			m[0].Cards = append(m[0].Cards, Card{Network: "lab", MAC: "52:54:0A:05:00:02"})
		}, "hardware address 52:54:0a:05:00:02 is taken by machine a, card 0"},
		{"addresses that count beside a chosen one", func(w *World, m []Machine) {
			w.Networks[1].Subnet6 = prefix("fd00:6::/112")
			m[0].Cards = []Card{{Network: "six"}, {Network: "six", Addr6: addr("fd00:6::2")}}
		}, ""},
		{"a card with the gateway's address", card(Card{Network: "lab", Addr4: addr("10.5.0.1")}), "is taken by gateway of network lab"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := World{Networks: []Network{{Name: "lab", Subnet4: prefix("10.5.0.0/24")}, {Name: "six", Subnet6: prefix("fd00:6::/64"), Subnet4: prefix("10.6.0.0/24")}}}
			machines := []Machine{{Name: "a", Cards: []Card{{Network: "lab"}}}}
			tt.edit(&w, machines)

			err := w.Plan(machines)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want it to hold %q", err, tt.want)
			}
		})
	}
}

// TestRouted finds machines that stay connected when their networks' paths are cut.
func TestRouted(t *testing.T) {
	w := World{Networks: []Network{{Name: "apart"}}}
	w.Add(Site{Name: "site-1"}, Site{Name: "site-2"})

	machines := []Machine{
		{Name: "public", Cards: []Card{{Network: Internet}, {Network: "apart"}}},
		{Name: "one", Cards: []Card{{Network: "site-1"}, {Network: "apart"}}},
		{Name: "two", Cards: []Card{{Network: "site-2"}}},
		{Name: "neighbour", Cards: []Card{{Network: "site-2"}}},
		{Name: "alone", Cards: []Card{{Network: "apart"}}},
	}

	tests := []struct {
		from, to string
		want     bool
	}{
		{"public", "one", true}, // and over their common network
		{"one", "two", true},
		{"two", "neighbour", false}, // their frames pass no router
		{"one", "alone", false},
	}

	for _, tt := range tests {
		if got := w.Routed(machines, tt.from, tt.to); got != tt.want {
			t.Errorf("from %s to %s: got %v, want %v", tt.from, tt.to, got, tt.want)
		}
	}
}

func TestFind(t *testing.T) {
	w := World{}
	w.Add(Site{Name: "home"})

	machines := []Machine{
		{Name: "a", Cards: []Card{{Network: "home"}, {Network: Internet}, {Network: "home"}}},
		{Name: "b", Cards: []Card{{Network: Internet}}},
	}

	tests := []struct {
		name string
		want []Port
		err  string
	}{
		{name: "a", want: []Port{{"home", "a/0"}, {"internet", "a/1"}, {"home", "a/2"}}},
		{name: "a/2", want: []Port{{"home", "a/2"}}},
		{name: "a/home", want: []Port{{"home", "a/0"}, {"home", "a/2"}}},
		{name: "home-router", want: []Port{{"home", "home-router"}, {"internet", "home-router"}}},
		{name: "home-router/home", want: []Port{{"home", "home-router"}}},
		{name: "gateway", want: []Port{{"internet", "gateway"}, {"home", "gateway"}}},
		{name: "gateway/home", want: []Port{{"home", "gateway"}}},
		{name: "internet", want: []Port{{"internet", "a/1"}, {"internet", "b/0"}, {"internet", "home-router"}, {"internet", "gateway"}}},
		{name: "c", err: `the lab has no machine, router or network "c": there is a, b, home-router, internet, home, gateway`},
		{name: "b/home", err: `b has no card "home": there is b/internet`},
	}

	for _, tt := range tests {
		got, err := w.Find(machines, tt.name)
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}

		if (err != nil || tt.err != "") && (err == nil || err.Error() != tt.err) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.err)
		}

		for _, p := range got {
			if exact, err := w.Find(machines, p.Exact()); err != nil || len(exact) != 1 || exact[0] != p {
				t.Errorf("%s: got %v, %v, want %v alone", p.Exact(), exact, err, p)
			}
		}
	}
}
