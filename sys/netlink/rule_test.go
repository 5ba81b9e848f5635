// SPDX-License-Identifier: Apache-2.0

package netlink_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// rules are added, listed, refused a second time and removed.
var rules = []netlink.Rule{
	{Family: unix.AF_INET, Priority: 1000, Source: netip.MustParsePrefix("198.51.100.0/24"), Action: unix.FR_ACT_TO_TBL, Table: 123, Protocol: unix.RTPROT_STATIC},
	{Family: unix.AF_INET, Priority: 1000, Destination: netip.MustParsePrefix("203.0.113.7/32"), Action: unix.FR_ACT_TO_TBL, Table: 1000, Protocol: unix.RTPROT_STATIC},
	{Family: unix.AF_INET, Priority: 900, InLink: "eth7", OutLink: "lo", Mark: 0x10, Mask: 0xff, Action: unix.FR_ACT_BLACKHOLE, Protocol: unix.RTPROT_STATIC},
	{Family: unix.AF_INET6, Priority: 7, Source: netip.MustParsePrefix("2001:db8::/32"), Action: unix.FR_ACT_PROHIBIT, Protocol: unix.RTPROT_STATIC},
}

func testRules(t *testing.T, k netlink.Kernel) {
	t.Helper()

	listed := func() (own []netlink.Rule) {
		t.Helper()

		all, err := k.Rules()
		if err != nil {
			t.Fatal(err)
		}

		return slices.DeleteFunc(all, func(r netlink.Rule) bool { return r.Protocol != unix.RTPROT_STATIC })
	}

	for _, r := range rules {
		if err := k.AddRule(r); err != nil {
			t.Fatal(err)
		}

		if err := k.AddRule(r); !errors.Is(err, unix.EEXIST) {
			t.Errorf("%s again: got %v, want EEXIST", r, err)
		}
	}

	if got := listed(); len(got) != len(rules) {
		t.Errorf("got %v, want %d rules", got, len(rules))
	}

	for _, r := range rules {
		if !slices.Contains(listed(), r) {
			t.Errorf("%+v is not among %+v", r, listed())
		}
	}

	for _, r := range slices.Concat(rules, rules) { // the second time they are already removed
		if err := k.DeleteRule(r); err != nil {
			t.Error(err)
		}
	}

	if got := listed(); len(got) != 0 {
		t.Errorf("got %v, want none", got)
	}
}

func TestFakeRules(t *testing.T) { testRules(t, &netlinktest.Kernel{}) }

func TestRealRules(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k := open(t)
	testRules(t, k)

	// A change of a rule wakes those who watch.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	seen := make(chan netlink.Groups, 16)
	done := make(chan error, 1)

	go func() { done <- k.Watch(ctx, netlink.WatchAll, func(g netlink.Groups) { seen <- g }) }()

	<-seen // at the start

	if err := k.AddRule(rules[3]); err != nil {
		t.Fatal(err)
	}

	select {
	case got := <-seen:
		if got != netlink.WatchRules {
			t.Errorf("got groups %x, want %x", got, netlink.WatchRules)
		}
	case <-ctx.Done():
		t.Error("nothing was reported")
	}

	cancel()

	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestRealRoutesToNowhere sets a blackhole of each family, a route with two ways and an address with a metric.
func TestRealRoutesToNowhere(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k := open(t)
	a, _ := veth(t, k)

	for _, r := range []netlink.Route{
		{Family: unix.AF_INET, Destination: netip.MustParsePrefix("198.51.100.0/24"), Type: unix.RTN_BLACKHOLE},
		{Family: unix.AF_INET6, Destination: netip.MustParsePrefix("2001:db8:1::/48"), Type: unix.RTN_BLACKHOLE},
	} {
		r.Table, r.Priority, r.Protocol = unix.RT_TABLE_MAIN, 1024, unix.RTPROT_STATIC

		if err := errors.Join(k.ReplaceRoute(r), k.ReplaceRoute(r)); err != nil {
			t.Fatal(err)
		}

		same := func(have netlink.Route) bool { return have.Key() == r.Key() && have.SameWay(r) && have.Type == r.Type }
		if got := routesOf(t, k, same); len(got) != 1 {
			t.Errorf("%s: got %v", r, got)
		} else if err := k.DeleteRoute(got[0]); err != nil {
			t.Error(err)
		}

		if got := routesOf(t, k, same); len(got) != 0 {
			t.Errorf("%s is still there: %v", r, got)
		}
	}

	metric := netlink.Address{LinkIndex: a.Index, Prefix: netip.MustParsePrefix("192.0.2.2/24"), Priority: 77}
	if err := k.AddAddress(metric); err != nil {
		t.Fatal(err)
	}

	if got := routesOf(t, k, func(r netlink.Route) bool { return r.Destination == metric.Prefix.Masked() }); len(got) != 1 || got[0].Priority != 77 {
		t.Errorf("the network's route: got %v, want metric 77", got)
	}

	addresses, err := k.Addresses()
	if err != nil || !slices.ContainsFunc(addresses, func(have netlink.Address) bool { return have.Same(metric) && have.Priority == 77 }) {
		t.Errorf("got %v, %v; want an address with metric 77", addresses, err)
	}

	twoWays := netlink.Route{
		Family: unix.AF_INET, Destination: netip.MustParsePrefix("203.0.113.0/24"), Table: 123, Priority: 5, Type: unix.RTN_UNICAST, Protocol: unix.RTPROT_STATIC,
		NextHops: []netlink.NextHop{
			{Gateway: netip.MustParseAddr("192.0.2.1"), LinkIndex: a.Index, Weight: 1},
			{Gateway: netip.MustParseAddr("192.0.2.9"), LinkIndex: a.Index, Weight: 3},
		},
	}
	if err := k.ReplaceRoute(twoWays); err != nil {
		t.Fatal(err)
	}

	if got := routesOf(t, k, func(r netlink.Route) bool { return r.Table == 123 }); len(got) != 1 || !slices.Equal(got[0].NextHops, twoWays.NextHops) {
		t.Errorf("got %+v, want the ways %v", got, twoWays.NextHops)
	}

	if err := k.SetLink(a.Index, netlink.LinkChange{Multicast: ptr(false)}); err != nil {
		t.Fatal(err)
	}

	if got := linkNamed(t, k, "va"); got.Multicast() || !got.Up() {
		t.Errorf("got flags %x, want up and no multicast", got.Flags)
	}
}

func routesOf(t *testing.T, k netlink.Kernel, which func(netlink.Route) bool) []netlink.Route {
	t.Helper()

	all, err := k.Routes()
	if err != nil {
		t.Fatal(err)
	}

	return slices.DeleteFunc(all, func(r netlink.Route) bool { return !which(r) })
}
