// SPDX-License-Identifier: Apache-2.0

package netlink_test

import (
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// testPriority changes the metrics of addresses of both families. The routes by their networks stay.
func testPriority(t *testing.T, k netlink.Kernel, link uint32) {
	t.Helper()

	for _, tt := range []struct{ address, gateway string }{{"192.0.2.2/24", "192.0.2.1"}, {"2001:db8::2/64", "2001:db8::1"}} {
		a := netlink.Address{LinkIndex: link, Prefix: netip.MustParsePrefix(tt.address), Flags: unix.IFA_F_PERMANENT}
		family := uint8(unix.AF_INET)

		if a.Prefix.Addr().Is6() {
			a.Flags |= unix.IFA_F_NODAD
			family = unix.AF_INET6
		}

		by := netlink.Route{
			Family: family, Gateway: netip.MustParseAddr(tt.gateway), LinkIndex: link, Table: unix.RT_TABLE_MAIN, Type: unix.RTN_UNICAST,
			Protocol: unix.RTPROT_STATIC, Priority: 5,
		}

		if err := k.AddAddress(a); err != nil {
			t.Fatal(err)
		}

		if err := k.ReplaceRoute(by); err != nil {
			t.Fatal(err)
		}

		for _, priority := range []uint32{77, 78} {
			a.Priority = priority
			if err := k.SetAddressPriority(a); err != nil {
				t.Fatal(err)
			}

			addresses, err := k.Addresses()
			if err != nil || !slices.ContainsFunc(addresses, func(have netlink.Address) bool { return have.Same(a) && have.Priority == priority }) {
				t.Errorf("got %v, %v, want an address with metric %d", addresses, err, priority)
			}

			network := routesOf(t, k, func(r netlink.Route) bool { return r.Destination == a.Prefix.Masked() && r.Table == unix.RT_TABLE_MAIN })
			if len(network) != 1 || network[0].Priority != priority {
				t.Errorf("the network's route: got %v, want metric %d", network, priority)
			}

			if got := routesOf(t, k, func(r netlink.Route) bool { return r.Key() == by.Key() && r.SameWay(by) }); len(got) != 1 {
				t.Errorf("the route by %s is lost", tt.gateway)
			}
		}
	}
}

func TestFakePriority(t *testing.T) {
	var k netlinktest.Kernel

	testPriority(t, &k, k.Plug(netlink.Link{Name: "eth0", Flags: unix.IFF_UP | unix.IFF_LOWER_UP, MTU: 1500}).Index)
}

func TestRealPriority(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k := open(t)
	a, _ := veth(t, k)

	testPriority(t, k, a.Index)
}
