// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/sys/acd"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nstest"
	"github.com/seed-59268b81/talos/sys/platform"
)

// TestAnnouncement: on the real kernel another machine on the link receives the announcements of both families.
func TestAnnouncement(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	deps, own, peer := openVeth(t, platform.Platform{}, "eth0", "other")
	up := true

	if err := deps.Kernel.SetLink(own.Index, netlink.LinkChange{Up: &up}); err != nil {
		t.Fatal(err)
	}

	var (
		arp  *acd.Conn
		icmp net.PacketConn
	)

	second := nstest.NewNetwork(t)
	second.Take(peer.Index)
	second.Do(func() {
		k, err := netlink.Open()
		if err != nil {
			t.Error(err)

			return
		}
		defer k.Close()

		var err1, err2, err3 error

		err1 = k.SetLink(peer.Index, netlink.LinkChange{Up: &up})
		arp, err2 = acd.Open()
		icmp, err3 = net.ListenPacket("ip6:ipv6-icmp", "::")

		if err := errors.Join(err1, err2, err3); err != nil {
			t.Error(err)
		}
	})

	if t.Failed() {
		return
	}

	defer func() { _ = errors.Join(arp.Close(), icmp.Close()) }()

	uses, neighbors := make(chan acd.Use, 100), make(chan []byte, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})

	go func() {
		defer close(ended)

		_ = arp.Watch(ctx, func(u acd.Use) { uses <- u })
	}()

	go func() {
		for {
			b := make([]byte, 100)

			n, _, err := icmp.ReadFrom(b)
			if err != nil {
				close(neighbors)

				return
			}

			if b[0] == 136 {
				neighbors <- b[:n]
			}
		}
	}()

	v4, v6 := addr("192.0.2.50"), addr("2001:db8::50")
	again := time.NewTicker(200 * time.Millisecond) // the link may not have its own address yet
	limit := time.After(20 * time.Second)

	var have4, have6 bool

	for !have4 || !have6 {
		select {
		case <-again.C:
			for _, a := range []netip.Addr{v4, v6} {
				if err := deps.Announce(ctx, own.Index, [6]byte(own.Address), a); err != nil {
					t.Log(err)
				}
			}
		case u := <-uses:
			have4 = have4 || u.Addr == v4 && u.By == [6]byte(own.Address)
		case b := <-neighbors:
			have6 = have6 || len(b) == 32 && netip.AddrFrom16([16]byte(b[8:24])) == v6 && b[4] == 0x20 && [6]byte(b[26:32]) == [6]byte(own.Address)
		case <-limit:
			t.Fatalf("received: ARP %t, neighbor advertisement %t", have4, have6)
		}
	}

	cancel()
	<-ended

	_ = icmp.Close()
	for range neighbors { // until it is closed
	}
}
