// SPDX-License-Identifier: Apache-2.0

package router

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/layers"
)

const askARP = "world to ff:ff:ff:ff:ff:ff: ARP 1 198.51.100.1 is at 02:00:00:00:00:02, 198.51.100.9 at 00:00:00:00:00:00"

func lines(list ...string) string { return strings.Join(list, "\n") }

func TestNeighborIsFound(t *testing.T) {
	b := newBench(t, nil)

	if d := cmp.Diff(askARP, b.receive(0, fromSite("10.0.0.2:1", "198.51.100.9:7", 64, 9))); d != "" {
		t.Errorf("the first packet (-want +got):\n%s", d)
	}

	for i := range queueLimit + 5 {
		if got := b.receive(0, fromSite(fmt.Sprintf("10.0.0.2:%d", 2+i), "198.51.100.9:7", 64, 9)); got != "" {
			t.Errorf("packet %d: got %s, want nothing", i, got)
		}
	}

	// The neighbor is found at the second request. Queued packets are sent in order; the others were dropped.
	if d := cmp.Diff(askARP+"\n", b.tick(probeEvery)); d != "" {
		t.Errorf("after %v (-want +got):\n%s", probeEvery, d)
	}

	var want []string
	for i := range queueLimit {
		want = append(want, fmt.Sprintf("world to 02:00:00:00:00:09: 10.0.0.2 > 198.51.100.9 ttl 63 udp %d > 7", 1+i))
	}

	answer := arpFrame(layers.ARPReply, card(9), worldCard, netip.MustParseAddr("198.51.100.9"), netip.MustParseAddr("198.51.100.1"))
	if d := cmp.Diff(lines(want...), b.receive(1, answer)); d != "" {
		t.Errorf("queued packets (-want +got):\n%s", d)
	}

	if got := b.core.dropped["neighbor queue full"]; got != 6 {
		t.Errorf("got %d dropped, want 6", got)
	}

	if got := b.tick(time.Hour); got != "" {
		t.Errorf("a quiet router sent %s", got)
	}
}

func TestNeighborIsGone(t *testing.T) {
	b := newBench(t, nil)
	b.receive(0, fromSite("10.0.0.2:1", "198.51.100.9:7", 64, 9))
	b.receive(0, fromSite("[2001:db8:1::2]:1", "[2001:db8:2::9]:7", 64, 9))

	got := b.tick(probeEvery*probes - 1)
	if n := strings.Count(got, askARP); n != probes-1 {
		t.Errorf("asked %d times more, want %d", n, probes-1)
	}

	if n := strings.Count(got, "who is 2001:db8:2::9"); n != probes-1 {
		t.Errorf("asked %d times more with IPv6, want %d", n, probes-1)
	}

	want := lines(
		"site to 02:00:00:00:00:03: 10.0.0.1 > 10.0.0.2 ttl 64 icmp 3/1 about 10.0.0.2 > 198.51.100.9",
		"site to 02:00:00:00:00:03: 2001:db8:1::1 > 2001:db8:1::2 ttl 64 icmp6 1/3 about 2001:db8:1::2 > 2001:db8:2::9",
	) + "\n"
	if d := cmp.Diff(want, b.tick(1)); d != "" {
		t.Errorf("in the end (-want +got):\n%s", d)
	}

	if n := len(b.core.legs[1].neighbors); n != 2 {
		t.Errorf("got %d neighbors, want the 2 that are there", n)
	}
}

// TestNeighborIsAskedAgain uses a neighbor that was silent for a while.
func TestNeighborIsAskedAgain(t *testing.T) {
	b := newBench(t, nil)
	b.tick(freshFor)

	ask := "world to ff:ff:ff:ff:ff:ff: ARP 1 198.51.100.1 is at 02:00:00:00:00:02, 198.51.100.2 at 00:00:00:00:00:00"
	through := "world to 02:00:00:00:00:04: 10.0.0.2 > 198.51.100.2 ttl 63 udp 1 > 7"

	if d := cmp.Diff(lines(ask, through), b.receive(0, fromSite("10.0.0.2:1", "198.51.100.2:7", 64, 9))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	// It has another card now, and gets packets there at once.
	b.receive(1, arpFrame(layers.ARPReply, card(8), worldCard, netip.MustParseAddr("198.51.100.2"), netip.MustParseAddr("198.51.100.1")))

	through = "world to 02:00:00:00:00:08: 10.0.0.2 > 198.51.100.2 ttl 63 udp 1 > 7"
	if d := cmp.Diff(through, b.receive(0, fromSite("10.0.0.2:1", "198.51.100.2:7", 64, 9))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestNeighborsAreBounded(t *testing.T) {
	b := newBench(t, func(site, _ *Leg) { site.Addresses = prefixes("10.0.0.1/8") })

	for i := range neighborLimit + 10 {
		addr := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
		b.receive(0, arpFrame(layers.ARPRequest, siteHost, broadcast, addr, netip.MustParseAddr("10.0.0.1")))
	}

	if got := len(b.core.legs[0].neighbors); got != neighborLimit {
		t.Errorf("got %d neighbors, want %d", got, neighborLimit)
	}

	// Silent neighbors are evicted.
	b.tick(freshFor)
	b.receive(0, arpFrame(layers.ARPRequest, siteHost, broadcast, netip.MustParseAddr("10.2.0.1"), netip.MustParseAddr("10.0.0.1")))

	if got := b.core.legs[0].neighbors[netip.MustParseAddr("10.2.0.1")]; got == nil {
		t.Error("a new neighbor was not added")
	}
}

// TestWaitingPacketsAreBounded sends long packets to hosts that do not answer.
func TestWaitingPacketsAreBounded(t *testing.T) {
	b := newBench(t, func(site, world *Leg) { site.MTU, world.MTU = 9000, 9000 })
	world := b.core.legs[1]

	const size = 8000

	for i := range 200 {
		for range queueLimit {
			b.core.Receive(0, fromSite("10.0.0.2:5", fmt.Sprintf("198.51.100.%d:7", 10+i), 64, size), b.now)
		}
	}

	if got := world.waiting; got > waitingBytes || got < waitingBytes-2*size {
		t.Errorf("got %d bytes waiting, want nearly %d", got, waitingBytes)
	}

	answer := arpFrame(layers.ARPReply, card(9), worldCard, netip.MustParseAddr("198.51.100.10"), netip.MustParseAddr("198.51.100.1"))
	if got := len(b.core.Receive(1, answer, b.now)); got != queueLimit {
		t.Errorf("got %d packets for a host that was found, want %d", got, queueLimit)
	}

	b.tick(time.Minute)

	if world.waiting != 0 {
		t.Errorf("got %d bytes waiting for hosts that are given up", world.waiting)
	}
}

// TestForgedNeighbors sends messages that must be ignored.
func TestForgedNeighbors(t *testing.T) {
	b := newBench(t, nil)

	for _, from := range []string{"10.0.0.1", "198.51.100.1", "0.0.0.0", "192.0.2.1", "224.0.0.1"} {
		b.receive(0, arpFrame(layers.ARPRequest, card(9), broadcast, netip.MustParseAddr(from), netip.MustParseAddr("10.0.0.1")))
	}

	if got := len(b.core.legs[0].neighbors); got != 2 {
		t.Errorf("got %d neighbors, want the 2 that are there", got)
	}
}

func TestNothingUnasked(t *testing.T) {
	if got := newBench(t, nil).tick(time.Hour); got != "" {
		t.Errorf("got %s, want nothing", got)
	}
}
