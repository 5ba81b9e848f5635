// SPDX-License-Identifier: Apache-2.0

package router

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// universe is a router of random legs and routes. Its networks have a host with each address.
type universe struct {
	*rand.Rand
	cfg  Config
	core *Core
}

func (u *universe) addr4(leg int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(leg), byte(u.IntN(3)), byte(2 + u.IntN(3))})
}

func (u *universe) addr6(leg int) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0x20, 1: 1, 3: byte(leg), 5: byte(u.IntN(3)), 15: byte(2 + u.IntN(3))})
}

func newUniverse(t *testing.T, seed uint64) *universe {
	u := &universe{Rand: rand.New(rand.NewPCG(seed, 0))}

	for i := range 3 {
		u.cfg.Legs = append(u.cfg.Legs, Leg{
			Name: fmt.Sprint(i), MAC: card(byte(1 + i)),
			Addresses: []netip.Prefix{
				netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i), 0, 1}), 16),
				netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0x20, 1: 1, 3: byte(i), 15: 1}), 32),
			},
			MTU: []int{0, 1280, 1400}[u.IntN(3)], Setting: Setting{BlockUDP: u.IntN(4) == 0, SilentTooBig: u.IntN(4) == 0},
		})
	}

	for range u.IntN(6) {
		via := u.IntN(3)

		// Some are within a leg's subnet, some are the world.
		route := Route{Destination: netip.PrefixFrom(u.addr4(u.IntN(4)), 24-8*u.IntN(4)).Masked(), Gateway: u.addr4(via)}
		if u.IntN(2) == 0 {
			route = Route{Destination: netip.PrefixFrom(u.addr6(u.IntN(4)), 48-16*u.IntN(4)).Masked(), Gateway: u.addr6(via)}
		}

		route.Leg = fmt.Sprint(via)
		u.cfg.Routes = append(u.cfg.Routes, route)
	}

	u.core = newCore(t, u.cfg)

	return u
}

// sent is a packet to the router.
type sent struct {
	leg      int
	from, to netip.Addr
	ttl      uint8
	size     int // with the IP header
	whole    bool
	udp      bool
}

func (u *universe) packet() sent {
	s := sent{leg: u.IntN(3), ttl: uint8(1 + u.IntN(3)), size: 1270 + u.IntN(250), whole: u.IntN(2) == 0, udp: u.IntN(2) == 0}
	if s.from, s.to = u.addr4(s.leg), u.addr4(u.IntN(4)); u.IntN(2) == 0 {
		s.from, s.to = u.addr6(s.leg), u.addr6(u.IntN(4))
	}

	return s
}

func (s sent) frame(mac HardwareAddr) []byte {
	var (
		proto = layers.IPProtocolESP
		to    = mac
		size  = s.size - 20
	)

	if s.udp {
		proto = layers.IPProtocolUDP
	}

	if s.from.Is4() {
		ip := &layers.IPv4{Version: 4, TTL: s.ttl, Protocol: proto, SrcIP: s.from.AsSlice(), DstIP: s.to.AsSlice()}
		if s.whole {
			ip.Flags = layers.IPv4DontFragment
		}

		return build(ethernet(card(99), to, layers.EthernetTypeIPv4), ip, gopacket.Payload(make([]byte, size)))
	}

	ip := &layers.IPv6{Version: 6, HopLimit: s.ttl, NextHeader: proto, SrcIP: s.from.AsSlice(), DstIP: s.to.AsSlice()}

	return build(ethernet(card(99), to, layers.EthernetTypeIPv6), ip, gopacket.Payload(make([]byte, size-20)))
}

// model returns what a router must do with a packet by the standards: its next hop, or the error for its sender.
func (u *universe) model(s sent) string {
	type way struct {
		bits, leg int
		gateway   netip.Addr
	}

	best := way{bits: -1}

	for i, l := range u.cfg.Legs {
		for _, a := range l.Addresses {
			if a.Contains(s.to) && a.Bits() > best.bits {
				best = way{a.Bits(), i, s.to}
			}
		}
	}

	for _, r := range u.cfg.Routes {
		if r.Destination.Contains(s.to) && r.Destination.Bits() > best.bits {
			var leg int

			fmt.Sscan(r.Leg, &leg) // the name is a printed number
			best = way{r.Destination.Bits(), leg, r.Gateway}
		}
	}

	if s.udp && u.cfg.Legs[s.leg].BlockUDP {
		return "nothing"
	}

	if s.ttl == 1 {
		return "time exceeded"
	}

	if best.bits < 0 {
		return "no route"
	}

	out := u.cfg.Legs[best.leg]

	mtu := out.MTU
	if mtu == 0 {
		mtu = 1500
	}

	switch {
	case s.udp && out.BlockUDP:
		return "nothing"
	case s.size <= mtu:
		return fmt.Sprintf("leg %d to %v ttl %d", best.leg, best.gateway, s.ttl-1)
	case s.from.Is4() && !s.whole:
		return fmt.Sprintf("leg %d to %v ttl %d in 2", best.leg, best.gateway, s.ttl-1)
	case out.SilentTooBig:
		return "nothing"
	default:
		return fmt.Sprintf("too big for %d", mtu)
	}
}

// observe returns what the router did, in the model's form. The neighbors are unknown, so the router sends a request
// for each. The request names the next hop, and after its answer the router sends the packet.
func (u *universe) observe(t *testing.T, s sent, now time.Time) string {
	t.Helper()

	frames := u.core.Receive(s.leg, s.frame(u.cfg.Legs[s.leg].MAC), now)
	if len(frames) == 0 {
		return "nothing"
	}

	p := gopacket.NewPacket(frames[0].Data, layers.LayerTypeEthernet, gopacket.Default)
	asked := frames[0].Leg

	var next netip.Addr

	if a, ok := p.Layer(layers.LayerTypeARP).(*layers.ARP); ok {
		next = netip.AddrFrom4([4]byte(a.DstProtAddress))
		frames = u.core.Receive(asked, arpFrame(layers.ARPReply, card(50), u.cfg.Legs[asked].MAC, next, u.cfg.Legs[asked].Addresses[0].Addr()), now)
	} else if n, ok := p.Layer(layers.LayerTypeICMPv6NeighborSolicitation).(*layers.ICMPv6NeighborSolicitation); ok {
		next = netip.AddrFrom16([16]byte(n.TargetAddress))
		frames = u.core.Receive(asked, advertisement(next, u.core.legs[asked].linkLocal, u.cfg.Legs[asked].MAC), now)
	} else {
		t.Fatalf("%+v: got %v, want a request for a neighbor", s, p)
	}

	// Restore the router.
	delete(u.core.legs[asked].neighbors, next)

	if len(frames) == 0 {
		t.Fatalf("%+v: nothing waited for neighbor %v", s, next)
	}

	p = gopacket.NewPacket(frames[0].Data, layers.LayerTypeEthernet, gopacket.Default)
	checkSums(t, p)

	switch l := p.Layer(layers.LayerTypeICMPv4).(type) {
	case *layers.ICMPv4:
		switch l.TypeCode {
		case layers.CreateICMPv4TypeCode(11, 0):
			return "time exceeded"
		case layers.CreateICMPv4TypeCode(3, 0):
			return "no route"
		case layers.CreateICMPv4TypeCode(3, 4):
			return fmt.Sprintf("too big for %d", l.Seq)
		}
	}

	if l, ok := p.Layer(layers.LayerTypeICMPv6).(*layers.ICMPv6); ok {
		switch l.TypeCode {
		case layers.CreateICMPv6TypeCode(3, 0):
			return "time exceeded"
		case layers.CreateICMPv6TypeCode(1, 0):
			return "no route"
		case layers.CreateICMPv6TypeCode(2, 0):
			return fmt.Sprintf("too big for %d", int(l.Payload[2])<<8|int(l.Payload[3]))
		}
	}

	var ttl uint8

	switch l := p.NetworkLayer().(type) {
	case *layers.IPv4:
		ttl = l.TTL
	case *layers.IPv6:
		ttl = l.HopLimit
	}

	text := fmt.Sprintf("leg %d to %v ttl %d", frames[0].Leg, next, ttl)
	if len(frames) > 1 {
		text += fmt.Sprintf(" in %d", len(frames))
	}

	return text
}

func advertisement(target, to netip.Addr, mac HardwareAddr) []byte {
	ip := &layers.IPv6{Version: 6, HopLimit: 255, NextHeader: layers.IPProtocolICMPv6, SrcIP: target.AsSlice(), DstIP: to.AsSlice()}
	message := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeNeighborAdvertisement, 0)}
	_ = message.SetNetworkLayerForChecksum(ip)

	from := card(50)

	return build(ethernet(from, mac, layers.EthernetTypeIPv6), ip, message, &layers.ICMPv6NeighborAdvertisement{
		Flags: solicited | override, TargetAddress: target.AsSlice(),
		Options: layers.ICMPv6Options{{Type: layers.ICMPv6OptTargetAddress, Data: from[:]}},
	})
}

func TestAgainstModel(t *testing.T) {
	seen := map[string]int{}

	for seed := range uint64(100) {
		u := newUniverse(t, seed)
		now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

		for range 100 {
			s := u.packet()
			want := u.model(s)
			seen[want[:4]]++

			if d := cmp.Diff(want, u.observe(t, s, now)); d != "" {
				t.Fatalf("seed %d, %+v, %+v (-want +got):\n%s", seed, u.cfg, s, d)
			}
		}
	}

	for _, what := range []string{"noth", "time", "no r", "too ", "leg "} {
		if seen[what] < 100 {
			t.Errorf("got %d packets with fate %q…, want at least 100", seen[what], what)
		}
	}
}
