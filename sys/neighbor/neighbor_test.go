// SPDX-License-Identifier: Apache-2.0

//go:build linux

package neighbor

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/jsimonetti/rtnetlink/v2/driver"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/nstest"
)

// TestAnswers asks neighbors on a real link: one that is there, one that is not, and one behind a link that is down.
func TestAnswers(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	peer := nstest.NewNetwork(t)

	c, err := rtnetlink.Dial(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	if err := c.Link.New(&rtnetlink.LinkMessage{Index: 10, Attributes: &rtnetlink.LinkAttributes{
		Name: "here", Info: &rtnetlink.LinkInfo{Kind: "veth", Data: &driver.Veth{PeerInfo: &rtnetlink.LinkMessage{Index: 11, Attributes: &rtnetlink.LinkAttributes{Name: "there"}}}},
	}}); err != nil {
		t.Fatal(err)
	}

	peer.Take(11)

	up := func(c *rtnetlink.Conn, index uint32, last byte) {
		t.Helper()

		if err := c.Link.Set(&rtnetlink.LinkMessage{Index: index, Flags: unix.IFF_UP, Change: unix.IFF_UP}); err != nil {
			t.Error(err)
		}

		if err := c.Address.New(&rtnetlink.AddressMessage{Family: unix.AF_INET, PrefixLength: 24, Index: index, Attributes: &rtnetlink.AddressAttributes{
			Address: net.IPv4(198, 51, 100, last).To4(), Local: net.IPv4(198, 51, 100, last).To4(),
		}}); err != nil {
			t.Error(err)
		}
	}

	up(c, 10, 1)
	peer.Do(func() {
		far, err := rtnetlink.Dial(nil)
		if err != nil {
			t.Error(err)

			return
		}
		defer far.Close()

		up(far, 11, 2)
	})

	ask := func(addr, link string) bool {
		t.Helper()

		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()

		got, err := Answers(ctx, netip.MustParseAddr(addr), link)
		if err != nil || ctx.Err() != nil {
			t.Errorf("%s on %s: %v, %v", addr, link, err, ctx.Err())
		}

		return got
	}

	if !ask("198.51.100.2", "here") {
		t.Error("a neighbor that is there does not answer")
	}

	if ask("198.51.100.9", "here") {
		t.Error("a neighbor that is not there answers")
	}

	if ask("203.0.113.1", "here") {
		t.Error("an address that is on no network of the machine answers")
	}

	if ask("198.51.100.2", "gone") {
		t.Error("a neighbor answers on a link that does not exist")
	}

	// It was there, which the kernel still believes.
	peer.Do(func() {
		far, err := rtnetlink.Dial(nil)
		if err != nil {
			t.Error(err)

			return
		}
		defer far.Close()

		if err := far.Address.Delete(&rtnetlink.AddressMessage{Family: unix.AF_INET, PrefixLength: 24, Index: 11, Attributes: &rtnetlink.AddressAttributes{
			Address: net.IPv4(198, 51, 100, 2).To4(), Local: net.IPv4(198, 51, 100, 2).To4(),
		}}); err != nil {
			t.Error(err)
		}
	})

	if ask("198.51.100.2", "here") {
		t.Error("a neighbor that is not there any more answers")
	}
}
