// SPDX-License-Identifier: Apache-2.0

package router

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/seed-59268b81/talos/lab/nat"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// The cards of the router and of a host on each of its legs.
var (
	siteCard, worldCard = card(1), card(2)
	siteHost, worldHost = card(3), card(4)
)

// bench is a router with a leg on a site and one on the world, whose hosts are 10.0.0.2 and 198.51.100.2, 2001:db8:1::2
// and 2001:db8:2::2. It knows them, and the world's host is a gateway to 203.0.113.0/24.
type bench struct {
	t    *testing.T
	core *Core
	cfg  Config
	now  time.Time
}

func newBench(t *testing.T, edit func(site, world *Leg)) *bench {
	t.Helper()

	cfg := Config{
		Legs: []Leg{
			{Name: "site", MAC: siteCard, Addresses: prefixes("10.0.0.1/24", "2001:db8:1::1/64")},
			{Name: "world", MAC: worldCard, Addresses: prefixes("198.51.100.1/24", "2001:db8:2::1/64")},
		},
		Routes: []Route{{Destination: prefix("203.0.113.0/24"), Gateway: netip.MustParseAddr("198.51.100.2")}},
	}
	if edit != nil {
		edit(&cfg.Legs[0], &cfg.Legs[1])
	}

	b := &bench{t: t, core: newCore(t, cfg), cfg: cfg, now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	b.core.begin(b.now)

	for _, n := range []struct {
		leg  int
		addr string
		mac  HardwareAddr
	}{{0, "10.0.0.2", siteHost}, {0, "2001:db8:1::2", siteHost}, {1, "198.51.100.2", worldHost}, {1, "2001:db8:2::2", worldHost}} {
		b.core.learn(b.core.legs[n.leg], netip.MustParseAddr(n.addr), n.mac, true)
	}

	return b
}

func (b *bench) receive(leg int, frame []byte) string {
	b.t.Helper()

	return describeAll(b.t, b.cfg.Legs, b.core.Receive(leg, frame, b.now))
}

// tick advances the time and does everything that is due.
func (b *bench) tick(d time.Duration) string {
	b.t.Helper()

	var text string

	for end := b.now.Add(d); ; {
		due, waits := b.core.Next()
		if !waits || due.After(end) {
			b.now = end

			return text
		}

		if due.After(b.now) {
			b.now = due
		}

		if got := describeAll(b.t, b.cfg.Legs, b.core.Tick(b.now)); got != "" {
			text += got + "\n"
		}
	}
}

func fromSite(from, to string, ttl uint8, size int) []byte {
	return udpFrame(siteHost, siteCard, at(from), at(to), ttl, make([]byte, size))
}

func fromWorld(from, to string, ttl uint8, size int) []byte {
	return udpFrame(worldHost, worldCard, at(from), at(to), ttl, make([]byte, size))
}

// whole forbids fragmentation of an IPv4 packet.
func whole(frame []byte) []byte {
	p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
	link, _ := p.LinkLayer().(*layers.Ethernet)
	ip, _ := p.NetworkLayer().(*layers.IPv4)
	ip.Flags = layers.IPv4DontFragment

	return build(link, ip, gopacket.Payload(ip.Payload))
}

func ping(fromMAC, toMAC HardwareAddr, from, to string) []byte {
	return build(ethernet(fromMAC, toMAC, layers.EthernetTypeIPv4),
		&layers.IPv4{Version: 4, TTL: 1, Protocol: layers.IPProtocolICMPv4, SrcIP: netip.MustParseAddr(from).AsSlice(), DstIP: netip.MustParseAddr(to).AsSlice()},
		&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0), Id: 7, Seq: 1}, gopacket.Payload("hello"))
}

func ping6(from, to string) []byte {
	ip := &layers.IPv6{Version: 6, HopLimit: 1, NextHeader: layers.IPProtocolICMPv6, SrcIP: netip.MustParseAddr(from).AsSlice(), DstIP: netip.MustParseAddr(to).AsSlice()}
	message := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeEchoRequest, 0)}
	_ = message.SetNetworkLayerForChecksum(ip)

	return build(ethernet(siteHost, siteCard, layers.EthernetTypeIPv6), ip, message, &layers.ICMPv6Echo{Identifier: 7})
}

func TestForward(t *testing.T) {
	withNAT := func(cfg nat.Config) func(site, world *Leg) {
		return func(_, world *Leg) { world.NAT = &cfg }
	}
	toWorld, toSite := "world to 02:00:00:00:00:04: ", "site to 02:00:00:00:00:03: "

	tests := []struct {
		name  string
		edit  func(site, world *Leg)
		leg   int
		frame []byte
		want  string
	}{
		{"IPv4", nil, 0, fromSite("10.0.0.2:5", "198.51.100.2:7", 64, 9), toWorld + "10.0.0.2 > 198.51.100.2 ttl 63 udp 5 > 7"},
		{"IPv6", nil, 0, fromSite("[2001:db8:1::2]:5", "[2001:db8:2::2]:7", 64, 9), toWorld + "2001:db8:1::2 > 2001:db8:2::2 ttl 63 udp 5 > 7"},
		{"over a gateway", nil, 0, fromSite("10.0.0.2:5", "203.0.113.9:7", 64, 9), toWorld + "10.0.0.2 > 203.0.113.9 ttl 63 udp 5 > 7"},
		{"a frame for another card", nil, 0, udpFrame(siteHost, card(9), at("10.0.0.2:5"), at("198.51.100.2:7"), 64, nil), ""},
		{"a fragment beyond the longest packet", func(_, world *Leg) { world.MTU = 1280 }, 0, beyondLongest(), ""},
		{"a broadcast", nil, 0, udpFrame(siteHost, broadcast, at("10.0.0.2:5"), at("198.51.100.255:7"), 64, nil), ""},
		{"the broadcast address of another network", nil, 0, fromSite("10.0.0.2:5", "198.51.100.255:7", 64, 9), ""},
		{"a link-local source", nil, 0, fromSite("169.254.0.2:5", "198.51.100.2:7", 64, 9), ""},
		{"a link-local destination", nil, 0, fromSite("[2001:db8:1::2]:5", "[fe80::9]:7", 64, 9), ""},
		{
			"no route", nil, 0, fromSite("10.0.0.2:5", "192.0.2.1:7", 64, 9),
			toSite + "10.0.0.1 > 10.0.0.2 ttl 64 icmp 3/0 about 10.0.0.2 > 192.0.2.1",
		},
		{
			"no route for IPv6", nil, 0, fromSite("[2001:db8:1::2]:5", "[2001:db8:9::2]:7", 64, 9),
			toSite + "2001:db8:1::1 > 2001:db8:1::2 ttl 64 icmp6 1/0 about 2001:db8:1::2 > 2001:db8:9::2",
		},
		{
			"TTL exceeded", nil, 0, fromSite("10.0.0.2:5", "198.51.100.2:7", 1, 9),
			toSite + "10.0.0.1 > 10.0.0.2 ttl 64 icmp 11/0 about 10.0.0.2 > 198.51.100.2",
		},
		{
			"hop limit exceeded", nil, 0, fromSite("[2001:db8:1::2]:5", "[2001:db8:2::2]:7", 1, 9),
			toSite + "2001:db8:1::1 > 2001:db8:1::2 ttl 64 icmp6 3/0 about 2001:db8:1::2 > 2001:db8:2::2",
		},
		{
			"too big", func(_, world *Leg) { world.MTU = 1400 }, 0, whole(fromSite("10.0.0.2:5", "198.51.100.2:7", 64, 1373)),
			toSite + "10.0.0.1 > 10.0.0.2 ttl 64 icmp 3/4 mtu 1400 about 10.0.0.2 > 198.51.100.2",
		},
		{"as big as may be", func(_, world *Leg) { world.MTU = 1400 }, 0, whole(fromSite("10.0.0.2:5", "198.51.100.2:7", 64, 1372)), toWorld + "10.0.0.2 > 198.51.100.2 ttl 63 udp 5 > 7"},
		{
			"too big, and may be cut", func(_, world *Leg) { world.MTU = 1400 }, 0, fromSite("10.0.0.2:5", "198.51.100.2:7", 64, 1373),
			toWorld + "10.0.0.2 > 198.51.100.2 ttl 63 fragment 0+1376\n" + toWorld + "10.0.0.2 > 198.51.100.2 ttl 63 fragment 1376+5",
		},
		{
			"too big for IPv6", func(_, world *Leg) { world.MTU = 1400 }, 0, fromSite("[2001:db8:1::2]:5", "[2001:db8:2::2]:7", 64, 1400),
			toSite + "2001:db8:1::1 > 2001:db8:1::2 ttl 64 icmp6 2/0 mtu 1400 about 2001:db8:1::2 > 2001:db8:2::2",
		},
		{"a black hole", func(_, world *Leg) { world.MTU, world.SilentTooBig = 1400, true }, 0, whole(fromSite("10.0.0.2:5", "198.51.100.2:7", 64, 1400)), ""},
		{"a black hole for IPv6", func(_, world *Leg) { world.MTU, world.SilentTooBig = 1400, true }, 0, fromSite("[2001:db8:1::2]:5", "[2001:db8:2::2]:7", 64, 1400), ""},
		{"blocked UDP on the way out", func(_, world *Leg) { world.BlockUDP = true }, 0, fromSite("10.0.0.2:5", "198.51.100.2:7", 64, 9), ""},
		{"blocked UDP on the way in", func(_, world *Leg) { world.BlockUDP = true }, 1, fromWorld("198.51.100.2:5", "10.0.0.2:7", 64, 9), ""},
		{"blocked UDP of IPv6", func(_, world *Leg) { world.BlockUDP = true }, 1, fromWorld("[2001:db8:2::2]:5", "[2001:db8:1::2]:7", 64, 9), ""},
		{"blocked UDP that a NAT would let in", func(_, world *Leg) {
			world.BlockUDP, world.NAT = true, &nat.Config{Forwards: []nat.Forward{{Protocol: nat.UDP, Port: 7, To: at("10.0.0.2:8")}}}
		}, 1, fromWorld("198.51.100.2:5", "198.51.100.1:7", 64, 9), ""},
		{
			"ping through where UDP is blocked", func(_, world *Leg) { world.BlockUDP, world.NAT = true, &nat.Config{} }, 0,
			whole(pingTTL(64)), toWorld + "198.51.100.1 > 198.51.100.2 ttl 63 icmp 8/0",
		},
		{"ping", nil, 0, ping(siteHost, siteCard, "10.0.0.2", "10.0.0.1"), toSite + "10.0.0.1 > 10.0.0.2 ttl 64 icmp 0/0"},
		{"ping an address of another leg", nil, 0, ping(siteHost, siteCard, "10.0.0.2", "198.51.100.1"), toSite + "198.51.100.1 > 10.0.0.2 ttl 64 icmp 0/0"},
		{"ping with IPv6", nil, 0, ping6("2001:db8:1::2", "2001:db8:1::1"), toSite + "2001:db8:1::1 > 2001:db8:1::2 ttl 64 icmp6 129/0"},
		{"a port of the router", nil, 0, fromSite("10.0.0.2:5", "10.0.0.1:7", 64, 9), toSite + "10.0.0.1 > 10.0.0.2 ttl 64 icmp 3/3 about 10.0.0.2 > 10.0.0.1"},
		{"out through a NAT", withNAT(nat.Config{}), 0, fromSite("10.0.0.2:5000", "198.51.100.2:7", 64, 9), toWorld + "198.51.100.1 > 198.51.100.2 ttl 63 udp 5000 > 7"},
		{"TTL exceeded before a NAT", withNAT(nat.Config{}), 0, fromSite("10.0.0.2:5000", "198.51.100.2:7", 1, 9), toSite + "10.0.0.1 > 10.0.0.2 ttl 64 icmp 11/0 about 10.0.0.2 > 198.51.100.2"},
		{"in through a NAT", withNAT(nat.Config{}), 1, fromWorld("198.51.100.2:5", "198.51.100.1:7", 64, 9), ""},
		{"behind a NAT", withNAT(nat.Config{}), 1, fromWorld("198.51.100.2:5", "10.0.0.2:7", 64, 9), ""},
		{"IPv6 passes a NAT", withNAT(nat.Config{}), 1, fromWorld("[2001:db8:2::2]:5", "[2001:db8:1::2]:7", 64, 9), toSite + "2001:db8:2::2 > 2001:db8:1::2 ttl 63 udp 5 > 7"},
		{
			"a forward", withNAT(nat.Config{Forwards: []nat.Forward{{Protocol: nat.UDP, Port: 7, To: at("10.0.0.2:8")}}}), 1,
			fromWorld("198.51.100.2:5", "198.51.100.1:7", 64, 9), toSite + "198.51.100.2 > 10.0.0.2 ttl 63 udp 5 > 8",
		},
		{
			"TTL exceeded after a NAT", withNAT(nat.Config{Forwards: []nat.Forward{{Protocol: nat.UDP, Port: 7, To: at("10.0.0.2:8")}}}), 1,
			fromWorld("198.51.100.2:5", "198.51.100.1:7", 1, 9), toWorld + "198.51.100.1 > 198.51.100.2 ttl 64 icmp 11/0 about 198.51.100.2 > 198.51.100.1",
		},
		{
			"a hairpin", withNAT(nat.Config{Hairpin: nat.HairpinExternal, Forwards: []nat.Forward{{Protocol: nat.UDP, Port: 7, To: at("10.0.0.2:8")}}}), 0,
			fromSite("10.0.0.3:5000", "198.51.100.1:7", 64, 9), toSite + "198.51.100.1 > 10.0.0.2 ttl 63 udp 5000 > 8",
		},
		{"ping the external address", withNAT(nat.Config{}), 1, ping(worldHost, worldCard, "198.51.100.2", "198.51.100.1"), toWorld + "198.51.100.1 > 198.51.100.2 ttl 64 icmp 0/0"},
		{"ping the external address from inside", withNAT(nat.Config{}), 0, ping(siteHost, siteCard, "10.0.0.2", "198.51.100.1"), toSite + "198.51.100.1 > 10.0.0.2 ttl 64 icmp 0/0"},
		{
			"who has the router's address", nil, 0, arpFrame(layers.ARPRequest, siteHost, broadcast, netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.1")),
			toSite + "ARP 2 10.0.0.1 is at 02:00:00:00:00:01, 10.0.0.2 at 02:00:00:00:00:03",
		},
		{"who has another's address", nil, 0, arpFrame(layers.ARPRequest, siteHost, broadcast, netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("198.51.100.1")), ""},
		{
			"who has the router's IPv6 address", nil, 0, solicitation("2001:db8:1::2", "2001:db8:1::1"),
			toSite + "2001:db8:1::1 > 2001:db8:1::2 ttl 255 icmp6 136/0 2001:db8:1::1 is flags 0xe0",
		},
		{
			"who else wants the router's IPv6 address", nil, 0, solicitation("::", "2001:db8:1::1"),
			"site to 33:33:00:00:00:01: 2001:db8:1::1 > ff02::1 ttl 255 icmp6 136/0 2001:db8:1::1 is flags 0xa0",
		},
		{"who has another's IPv6 address", nil, 0, solicitation("2001:db8:1::2", "2001:db8:2::1"), ""},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.edit)
			if d := cmp.Diff(tt.want, b.receive(tt.leg, tt.frame)); d != "" {
				t.Errorf("frames (-want +got):\n%s\n%v", d, b.core.dropped)
			}
		})
	}
}

// beyondLongest returns a fragment that ends after the last byte of the longest packet.
func beyondLongest() []byte {
	frame := fromSite("10.0.0.2:5", "198.51.100.2:7", 64, 1400)
	h := header.IPv4(frame[etherLen:])
	h.SetFlagsFragmentOffset(0, longest4-7)
	sumHeader(h)

	return frame
}

func pingTTL(ttl uint8) []byte {
	p := gopacket.NewPacket(ping(siteHost, siteCard, "10.0.0.2", "198.51.100.2"), layers.LayerTypeEthernet, gopacket.Default)
	link, _ := p.LinkLayer().(*layers.Ethernet)
	ip, _ := p.NetworkLayer().(*layers.IPv4)
	ip.TTL = ttl

	return build(link, ip, gopacket.Payload(ip.Payload))
}

func solicitation(from, target string) []byte {
	to := solicitedNode(netip.MustParseAddr(target))
	mac := multicastMAC(to)
	ip := &layers.IPv6{Version: 6, HopLimit: 255, NextHeader: layers.IPProtocolICMPv6, SrcIP: netip.MustParseAddr(from).AsSlice(), DstIP: to.AsSlice()}
	message := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeNeighborSolicitation, 0)}
	_ = message.SetNetworkLayerForChecksum(ip)

	body := &layers.ICMPv6NeighborSolicitation{TargetAddress: netip.MustParseAddr(target).AsSlice()}
	if from != "::" {
		body.Options = layers.ICMPv6Options{{Type: layers.ICMPv6OptSourceAddress, Data: siteHost[:]}}
	}

	return build(ethernet(siteHost, mac, layers.EthernetTypeIPv6), ip, message, body)
}
