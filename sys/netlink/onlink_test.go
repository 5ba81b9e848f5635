// SPDX-License-Identifier: Apache-2.0

package netlink_test

import (
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// TestRealOnLink sets routes whose gateways no network has, of both families, with one way and with two. The kernel refuses them without the
// flag, and returns the flag.
func TestRealOnLink(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k := open(t)
	a, b := veth(t, k)

	for _, tt := range []struct {
		family                     uint8
		destination, first, second string
	}{
		{unix.AF_INET, "203.0.113.0/24", "198.51.100.1", "198.51.100.2"},
		{unix.AF_INET6, "2001:db8:3::/48", "2001:db8:1::1", "2001:db8:1::2"},
	} {
		one := netlink.Route{
			Family: tt.family, Destination: netip.MustParsePrefix(tt.destination), Table: unix.RT_TABLE_MAIN, Priority: 1024, Type: unix.RTN_UNICAST,
			Protocol: unix.RTPROT_STATIC, Gateway: netip.MustParseAddr(tt.first), LinkIndex: a.Index,
		}
		two := one
		two.Gateway, two.LinkIndex = netip.Addr{}, 0
		two.NextHops = []netlink.NextHop{
			{Gateway: netip.MustParseAddr(tt.first), LinkIndex: a.Index, Weight: 1}, {Gateway: netip.MustParseAddr(tt.second), LinkIndex: b.Index, Weight: 3},
		}

		for _, r := range []netlink.Route{one, two} {
			if err := k.ReplaceRoute(r); err == nil {
				t.Errorf("%s: got no error without the flag", r)
			}

			r.Flags = unix.RTNH_F_ONLINK
			if err := k.ReplaceRoute(r); err != nil {
				t.Fatal(err)
			}

			got := routesOf(t, k, func(have netlink.Route) bool { return have.Key() == r.Key() })
			if len(got) != 1 || !got[0].SameWay(r) || !got[0].SameFlags(r) || !slices.Equal(got[0].NextHops, r.NextHops) {
				t.Errorf("got %v, want %s", got, r)
			}
		}

		if err := k.DeleteRoute(two); err != nil {
			t.Error(err)
		}

		if got := routesOf(t, k, func(have netlink.Route) bool { return have.Key() == two.Key() }); len(got) != 0 {
			t.Errorf("got %v, want no route", got)
		}
	}
}

func TestRouteString(t *testing.T) {
	r := netlink.Route{Gateway: netip.MustParseAddr("192.0.2.1"), LinkIndex: 2, Priority: 5, Table: 254, Flags: unix.RTNH_F_ONLINK | unix.RTNH_F_LINKDOWN}
	if got, want := r.String(), "default via 192.0.2.1 dev 2 metric 5 table 254 onlink"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}

	r = netlink.Route{Destination: netip.MustParsePrefix("198.51.100.0/24"), Priority: 5, Table: 254, NextHops: []netlink.NextHop{
		{Gateway: netip.MustParseAddr("192.0.2.1"), LinkIndex: 2, Weight: 1}, {LinkIndex: 3, Weight: 7},
	}}
	if got, want := r.String(), "198.51.100.0/24 metric 5 table 254 nexthop via 192.0.2.1 dev 2 weight 1 nexthop dev 3 weight 7"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
