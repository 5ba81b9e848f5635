// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// metal returns a route of META.
func metal(t *testing.T, r network.RouteSpecSpec) network.RouteSpecSpec {
	t.Helper()

	spec, err := metalRoute(r)
	if err != nil {
		t.Fatal(err)
	}

	return spec
}

// TestPlanWays plans routes with several ways, with flags, and to nowhere. Each stage has one spec, which begins with what the stage before
// has set; in the end the spec goes, and nothing may stay.
func TestPlanWays(t *testing.T) {
	type stage struct {
		spec  network.RouteSpecSpec
		steps []string
		cause string
	}

	hop := func(link, gateway string, weight uint32) network.RouteNextHop {
		return network.RouteNextHop{OutLinkName: link, Gateway: addr(gateway), Weight: weight}
	}
	ways := func(hops ...network.RouteNextHop) network.RouteSpecSpec {
		return metal(t, network.RouteSpecSpec{Destination: prefix("198.51.100.0/24"), NextHops: hops})
	}
	via := func(gateway string, flags nethelpers.RouteFlags) network.RouteSpecSpec {
		return metal(t, network.RouteSpecSpec{Gateway: addr(gateway), OutLinkName: "eth0", Flags: flags})
	}
	nowhere := func(kind nethelpers.RouteType) network.RouteSpecSpec {
		return metal(t, network.RouteSpecSpec{Destination: prefix("198.18.0.0/15"), OutLinkName: "eth0", Type: kind})
	}
	set := func(step string) []string { return []string{"set route " + step} }

	const kept = "; 198.51.100.0/24 via 10.1.0.1 dev eth1 metric 1024 table 254 is kept until then"

	for _, tt := range []struct {
		name   string
		stages []stage
	}{
		{"ways", []stage{
			{
				ways(hop("eth0", "10.0.0.1", 0), hop("eth1", "10.1.0.1", 5)),
				set("198.51.100.0/24 metric 1024 table 254 nexthop via 10.0.0.1 dev eth0 weight 1 nexthop via 10.1.0.1 dev eth1 weight 5"), "",
			},
			{
				ways(hop("eth0", "10.0.0.1", 1), hop("eth1", "10.1.0.1", 6)),
				set("198.51.100.0/24 metric 1024 table 254 nexthop via 10.0.0.1 dev eth0 weight 1 nexthop via 10.1.0.1 dev eth1 weight 6"), "",
			},
			{ways(hop("eth1", "10.1.0.1", 6)), set("198.51.100.0/24 via 10.1.0.1 dev eth1 metric 1024 table 254"), ""},
			{ways(hop("eth0", "10.0.0.1", 1), hop("eth2", "10.2.0.1", 1)), nil, "waiting: link eth2 is down" + kept},
			{ways(hop("eth9", "10.9.0.1", 1)), nil, "waiting: link eth9 does not exist" + kept},
		}},
		{"a gateway that no network has", []stage{
			{via("203.0.113.1", nethelpers.RouteOnLink), set("default via 203.0.113.1 dev eth0 metric 1024 table 254 onlink"), ""},
		}},
		{"the flag alone changes, not those that the kernel does not keep", []stage{
			{via("10.0.0.1", 0), set("default via 10.0.0.1 dev eth0 metric 1024 table 254"), ""},
			{via("10.0.0.1", nethelpers.RouteOnLink), set("default via 10.0.0.1 dev eth0 metric 1024 table 254 onlink"), ""},
			{via("10.0.0.1", nethelpers.RouteOnLink|unix.RTM_F_NOTIFY), nil, ""},
			{via("10.0.0.1", 0), set("default via 10.0.0.1 dev eth0 metric 1024 table 254"), ""},
		}},
		{"to nowhere", []stage{
			{nowhere(nethelpers.TypeUnreachable), set("198.18.0.0/15 dev 0 metric 1024 table 254"), ""},
			{nowhere(nethelpers.TypeProhibit), set("198.18.0.0/15 dev 0 metric 1024 table 254"), ""},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, planner := waysKernel(t), &routePlanner{set: map[string][]netlink.Route{}}

			for i, s := range tt.stages {
				steps, _ := round(t, k, planner, []network.RouteSpecSpec{s.spec}, nil)
				again, p := round(t, k, planner, []network.RouteSpecSpec{s.spec}, nil)

				if diff := cmp.Diff(s.steps, append(steps, again...), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("stage %d: steps (-want +got):\n%s", i, diff)
				}

				if got := causes(p)[s.spec.ID()]; got != s.cause {
					t.Errorf("stage %d: got condition %q, want %q", i, got, s.cause)
				}
			}

			settle(t, k, planner, nil, []network.RouteSpecSpec{tt.stages[len(tt.stages)-1].spec})

			if routes, _ := k.Routes(); slices.ContainsFunc(routes, func(r netlink.Route) bool { return r.Protocol != unix.RTPROT_KERNEL }) {
				t.Errorf("something stayed: %v", routes)
			}
		})
	}
}

// waysKernel returns a kernel with eth0 and eth1, and eth2, which is down.
func waysKernel(t *testing.T) *netlinktest.Kernel {
	t.Helper()

	k := &netlinktest.Kernel{}

	for i, name := range []string{"eth0", "eth1", "eth2"} {
		l := ethernet(name, byte(i))
		if name != "eth2" {
			l.Flags = unix.IFF_UP
		}

		index := k.Plug(l).Index
		if err := k.AddAddress(netlink.Address{LinkIndex: index, Prefix: prefix(fmt.Sprintf("10.%d.0.2/24", i))}); err != nil {
			t.Fatal(err)
		}
	}

	return k
}

// TestRealWays sets the routes of META in the real kernel: several ways of both families, a gateway that no network has, and routes to
// nowhere.
func TestRealWays(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	m, _ := onRealKernel(t)
	m.configure(documents(`
VethConfig
name: va
addresses: [{address: 192.0.2.1/24}, {address: "2001:db8::1/64"}]
peer: {name: vb, addresses: [{address: 198.51.100.1/24}, {address: "2001:db8:1::1/64"}]}
`))
	await(m, "", "va", func(s network.LinkStatusSpec) bool { return s.LinkState })
	await(m, "", "vb", func(s network.LinkStatusSpec) bool { return s.LinkState })

	weights := func(want ...uint32) func(network.RouteStatusSpec) bool {
		return func(s network.RouteStatusSpec) bool {
			return slices.EqualFunc(s.NextHops, want, func(h network.RouteNextHop, weight uint32) bool { return h.Weight == weight })
		}
	}

	const config = `routes:
  - {dst: 203.0.113.0/24, nextHops: [{gateway: 192.0.2.9, outLinkName: va, weight: 1}, {gateway: 198.51.100.9, outLinkName: vb, weight: %d}]}
  - {dst: "2001:db8:9::/48", nextHops: [{gateway: "2001:db8::9", outLinkName: va}, {gateway: "2001:db8:1::9", outLinkName: vb, weight: %[1]d}]}
  - {dst: 198.18.1.0/24, gateway: 198.18.9.9, outLinkName: va, flags: "0x4"}
  - {dst: 198.18.2.0/24, type: unreachable}
  - {dst: "2001:db8:8::/48", type: prohibit}
`

	for _, weight := range []uint32{3, 7} {
		if err := setMeta(m, fmt.Sprintf(config, weight)); err != nil {
			t.Fatal(err)
		}

		await(m, "", "inet4//203.0.113.0/24/1024", weights(1, weight))
		await(m, "", "inet6//2001:db8:9::/48/1024", weights(1, weight))
		await(m, "", "inet4/198.18.9.9/198.18.1.0/24/1024", func(s network.RouteStatusSpec) bool { return s.Flags&nethelpers.RouteOnLink != 0 })
		await(m, "", "inet4//198.18.2.0/24/1024", func(s network.RouteStatusSpec) bool { return s.Type == nethelpers.TypeUnreachable })
		await(m, "", "lo/inet6//2001:db8:8::/48/1024", func(s network.RouteStatusSpec) bool { return s.Type == nethelpers.TypeProhibit })
		steady(m)
	}

	if err := setMeta(m, "routes: []\n"); err != nil {
		t.Fatal(err)
	}

	for _, id := range []string{
		"inet4//203.0.113.0/24/1024", "inet6//2001:db8:9::/48/1024", "inet4/198.18.9.9/198.18.1.0/24/1024", "inet4//198.18.2.0/24/1024",
		"lo/inet6//2001:db8:8::/48/1024",
	} {
		awaitGone[network.RouteStatusSpec](m, "", id)
	}
}
