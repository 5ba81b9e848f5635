// SPDX-License-Identifier: Apache-2.0

package netlink_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// TestFollowRoutes changes routes of the real kernel at random. The routes of the observer, which follows the kernel's messages, must become
// those that a read returns.
func TestFollowRoutes(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k := open(t)
	a, b := veth(t, k)

	for n, address := range []string{"192.0.2.1/24", "2001:db8::1/64"} {
		if err := k.AddAddress(netlink.Address{LinkIndex: []uint32{a.Index, b.Index}[n], Prefix: netip.MustParsePrefix(address), Flags: unix.IFA_F_NODAD}); err != nil {
			t.Fatal(err)
		}
	}

	o := netlink.NewObserver(k)
	watching := make(chan struct{}, 1)
	ended := make(chan error, 1)

	go func() {
		ended <- o.WatchOnly(0, nil)(t.Context(), func() {
			select {
			case watching <- struct{}{}:
			default:
			}
		})
	}()

	t.Cleanup(func() { <-ended })
	<-watching

	r := rand.New(rand.NewPCG(1, 2))

	for range 30 {
		for range 20 {
			change(k, r, a.Index, b.Index)
		}

		awaitSame(t, o, k)
	}
}

// change makes a change, which may fail.
func change(k netlink.Kernel, r *rand.Rand, links ...uint32) {
	pick := func(texts ...string) string { return texts[r.IntN(len(texts))] }
	link := links[r.IntN(len(links))]
	route := netlink.Route{Table: unix.RT_TABLE_MAIN, Type: unix.RTN_UNICAST, Protocol: unix.RTPROT_STATIC, LinkIndex: link, Priority: uint32(1 + r.IntN(2))}

	if r.IntN(2) == 0 {
		route.Family, route.Destination, route.Scope = unix.AF_INET, netip.MustParsePrefix(pick("198.51.100.0/24", "203.0.113.0/24")), unix.RT_SCOPE_LINK
	} else {
		route.Family, route.Destination = unix.AF_INET6, netip.MustParsePrefix(pick("2001:db8:1::/48", "2001:db8:2::/48"))
	}

	switch r.IntN(20) {
	case 0:
		up := r.IntN(4) > 0
		_ = k.SetLink(link, netlink.LinkChange{Up: &up})
	case 1:
		_ = k.AddAddress(netlink.Address{LinkIndex: link, Prefix: netip.MustParsePrefix(pick("192.0.2.9/24", "192.0.2.17/28", "2001:db8::9/64"))})
	case 2:
		_ = k.DeleteAddress(netlink.Address{LinkIndex: link, Prefix: netip.MustParsePrefix(pick("192.0.2.9/24", "192.0.2.17/28", "2001:db8::9/64"))})
	case 3, 4, 5, 6, 7:
		_ = k.DeleteRoute(route)
	case 8, 9:
		route.MTU = 1400
		_ = k.ReplaceRoute(route)
	case 10:
		route.LinkIndex, route.NextHops = 0, []netlink.NextHop{{LinkIndex: links[0], Weight: 1}, {LinkIndex: links[1], Weight: 1}}
		_ = k.ReplaceRoute(route)
	default:
		_ = k.ReplaceRoute(route)
	}
}

func awaitSame(t *testing.T, o *netlink.Observer, k netlink.Kernel) {
	t.Helper()

	texts := func(routes []netlink.Route) (out []string) {
		for _, r := range routes {
			out = append(out, fmt.Sprintf("%+v", r))
		}

		slices.Sort(out)

		return out
	}

	var diff string

	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		s, err1 := o.Snapshot()
		read, err2 := k.Routes()

		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}

		if diff = cmp.Diff(texts(read), texts(s.Routes)); diff == "" {
			return
		}
	}

	t.Fatalf("the observer has other routes than the kernel (-kernel +observer):\n%s", diff)
}
