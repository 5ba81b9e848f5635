// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
)

// bondWith returns documents of a bond of two cards with VLANs that have addresses, two of them in a VRF.
func bondWith(vlans int) string {
	texts := []string{"BondConfig\nname: bond0\nlinks: [eth0, eth1]\nbondMode: 802.3ad\nmiimon: 100", "VRFConfig\nname: blue\nlinks: [v0, v1]\ntable: \"123\""}

	for n := range vlans {
		texts = append(texts, fmt.Sprintf("VLANConfig\nname: v%d\nvlanID: %d\nparent: bond0\naddresses: [{address: 192.0.2.%d/30}]", n, 100+n, 4*n+1))
	}

	return documents(strings.Join(texts, "\n---\n"))
}

// countedPlanner counts plans.
type countedPlanner struct {
	planner[network.LinkSpecSpec]
	plans int
}

func (c *countedPlanner) plan(specs held[network.LinkSpecSpec], now *netlink.Snapshot) plan {
	c.plans++

	return c.planner.plan(specs, now)
}

// TestRoundTripsOfABond: the VLANs of a bond and a VRF take one request each, and a plan reads the links only.
func TestRoundTripsOfABond(t *testing.T) {
	const (
		vlans = 20
		// Two cards are set up, and each is taken down, added to the bond and set up again; the bond is created and set up; the rest is created.
		mostRequests = 2 + 2*3 + 2 + 1 + vlans
		// The first plan makes the links, the second what needs them, the third finds nothing to do.
		mostPlans = 3
		// Nothing else of the kernel is read by a plan of links.
		mostReads = mostPlans
	)

	var k netlinktest.Kernel

	k.Plug(ethernet("eth0", 1))
	k.Plug(ethernet("eth1", 2))

	cfg, err := config.Decode([]byte(bondWith(vlans)))
	if err != nil {
		t.Fatal(err)
	}

	f := given(t, "", "")
	f.config = view.Of(cfg)

	var specs held[network.LinkSpecSpec]
	for _, s := range linkLayers(f, nil) {
		if s.Name != "lo" {
			specs.wanted = append(specs.wanted, item[network.LinkSpecSpec]{s.ID(), s})
		}
	}

	planner := &countedPlanner{planner: newLinkPlanner()}
	c := &specController[network.LinkSpecSpec]{
		kernel: netlink.NewObserver(&k), planner: planner, reads: netlink.WatchLinks, touches: netlink.WatchAll, tries: tries{}, passes: linkPasses,
	}

	if _, p, err := c.converge(t.Context(), nil, func() (held[network.LinkSpecSpec], error) { return specs, nil }, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	} else if len(p.steps) > 0 || len(p.conditions) > 0 {
		t.Errorf("after all passes: got %d steps, %v", len(p.steps), causes(p))
	}

	requests := k.Calls()
	t.Logf("%d requests, %d plans, %d reads", len(requests), planner.plans, k.Reads())

	if len(requests) > mostRequests || planner.plans > mostPlans || k.Reads() > mostReads {
		t.Errorf("got %d requests, %d plans and %d reads, want at most %d, %d and %d:\n%s", len(requests), planner.plans, k.Reads(),
			mostRequests, mostPlans, mostReads, strings.Join(requests, "\n"))
	}
}

// BenchmarkBondComes measures how much all controllers together ask the kernel, from a configuration until a bond with twenty VLANs and a VRF is
// there.
func BenchmarkBondComes(b *testing.B) {
	const vlans = 20

	requests, reads := 0, 0

	for range b.N {
		b.StopTimer()

		m := newMachine(b, ethernet("eth0", 1), ethernet("eth1", 2))
		m.boot("")
		await(m, "", "eth1", func(s network.LinkStatusSpec) bool { return s.LinkState })

		requests -= len(m.kernel.Calls())
		reads -= m.kernel.Reads()

		b.StartTimer()
		m.configure(bondWith(vlans))

		for n := range vlans {
			await(m, "", fmt.Sprintf("v%d/192.0.2.%d/30", n, 4*n+1), func(network.AddressStatusSpec) bool { return true })
			await(m, "", fmt.Sprintf("v%d", n), func(s network.LinkStatusSpec) bool { return s.LinkState && (s.MasterIndex != 0) == (n < 2) })
		}

		requests += len(m.kernel.Calls())
		reads += m.kernel.Reads()
	}

	b.ReportMetric(float64(requests)/float64(b.N), "requests/op")
	b.ReportMetric(float64(reads)/float64(b.N), "reads/op")
}
