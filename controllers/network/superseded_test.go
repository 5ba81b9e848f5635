// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
)

// A spec that changes after its route was set and before the earlier one was removed keeps only the latest.
func TestSupersededRouteGoes(t *testing.T) {
	var k netlinktest.Kernel

	for i, name := range []string{"eth0", "eth1"} {
		l := ethernet(name, byte(i))
		l.Flags = unix.IFF_UP

		if err := k.AddAddress(netlink.Address{LinkIndex: k.Plug(l).Index, Prefix: prefix([]string{"10.0.0.2/24", "10.1.0.2/24"}[i])}); err != nil {
			t.Fatal(err)
		}
	}

	first := routeSpec("eth0", netip.Prefix{}, addr("10.0.0.1"), 1024, network.LayerOperator)
	second := routeSpec("eth1", netip.Prefix{}, addr("10.1.0.1"), 1024, network.LayerOperator)
	moved := second
	moved.OutLinkName = "eth9"

	planner := &routePlanner{set: map[string][]netlink.Route{}}

	for _, wanted := range [][]network.RouteSpecSpec{{first, second}, {second}, {moved}} {
		round(t, &k, planner, wanted, nil)
	}

	_, p := round(t, &k, planner, []network.RouteSpecSpec{moved}, nil)

	want := "waiting: link eth9 does not exist; default via 10.1.0.1 dev eth1 metric 1024 table 254 is kept until then"
	if got := causes(p)[second.ID()]; got != want {
		t.Errorf("got condition %q, want %q", got, want)
	}

	routes, err := k.Routes()
	if err != nil {
		t.Fatal(err)
	}

	var metrics []uint32

	for _, r := range routes {
		if r.Gateway == second.Gateway {
			metrics = append(metrics, r.Priority)
		}
	}

	if diff := cmp.Diff([]uint32{1024}, metrics); diff != "" {
		t.Errorf("metrics of the route (-want +got):\n%s", diff)
	}
}
