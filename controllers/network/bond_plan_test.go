// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
)

// TestBondFollowsItsConfiguration changes one setting after the other. The fake refuses what the kernel refuses of a bond that is up
// or has slaves, and each settles: nothing is set twice.
func TestBondFollowsItsConfiguration(t *testing.T) {
	var k netlinktest.Kernel

	k.Plug(ethernet("eth0", 1))
	k.Plug(ethernet("eth1", 2))

	bond := network.LinkSpecSpec{Name: "bond0", Logical: true, Up: true, Kind: network.LinkKindBond, BondMaster: network.BondMasterSpec{
		Mode: nethelpers.BondModeActiveBackup, MIIMon: 100, Primary: "eth1",
	}}
	slaves := []network.LinkSpecSpec{
		{Name: "eth0", Up: true, BondSlave: network.BondSlave{MasterName: "bond0"}},
		{Name: "eth1", Up: true, BondSlave: network.BondSlave{MasterName: "bond0"}},
	}
	planner := newLinkPlanner()
	settle(t, &k, planner, append(slaves, bond), nil)

	set := []string{"link bond0: bond settings"}
	again := func(spec *network.BondMasterSpec) []string {
		return settle(t, &k, planner, append(slaves, network.LinkSpecSpec{
			Name: "bond0", Logical: true, Up: true, Kind: network.LinkKindBond, BondMaster: *spec,
		}), nil)
	}

	spec := bond.BondMaster

	for _, tt := range []struct {
		name   string
		change func()
		want   []string
		check  func(netlink.Bond) bool
	}{
		{"nothing", func() {}, nil, func(b netlink.Bond) bool { return b.Primary == 2 && b.MIIMon == 100 }},
		{"another primary", func() { spec.Primary = "eth0" }, set, func(b netlink.Bond) bool { return b.Primary == 1 }},
		{"a primary that is not there", func() { spec.Primary = "eth9" }, nil, func(b netlink.Bond) bool { return b.Primary == 1 }},
		{"no primary", func() { spec.Primary = "" }, set, func(b netlink.Bond) bool { return b.Primary == 0 }},
		{"monitoring", func() { spec.MIIMon, spec.DownDelay = 50, 200 }, set, func(b netlink.Bond) bool { return b.MIIMon == 50 && b.DownDelay == 200 }},
		{
			"ARP targets", func() {
				spec.MIIMon, spec.ARPInterval, spec.ARPIPTargets = 0, 100, []netip.Addr{netip.MustParseAddr("192.0.2.1")}
			},
			set, func(b netlink.Bond) bool { return b.MIIMon == 0 && len(b.ARPIPTargets) == 1 },
		},
	} {
		tt.change()

		if diff := cmp.Diff(tt.want, again(&spec)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}

		if got := bondOfKernel(t, &k); !tt.check(got) {
			t.Errorf("%s: got %+v", tt.name, got)
		}
	}

	spec.Primary = "eth9"
	again(&spec)

	steps, p := round(t, &k, planner, append(slaves, network.LinkSpecSpec{Name: "bond0", Logical: true, Up: true, Kind: network.LinkKindBond, BondMaster: spec}), nil)
	if want := (map[string]string{"bond0": "waiting: primary link eth9 is not part of bond bond0"}); len(steps) != 0 || !cmp.Equal(want, causes(p)) {
		t.Errorf("a primary that is not there: got %v, %v, want %v", steps, causes(p), want)
	}

	// Another mode is another bond, and LACP's rate takes it down for a moment.
	spec = network.BondMasterSpec{Mode: nethelpers.BondMode8023AD, MIIMon: 100}
	again(&spec)

	spec.LACPRate = 1
	if diff := cmp.Diff(set, again(&spec)); diff != "" {
		t.Errorf("LACP rate (-want +got):\n%s", diff)
	}

	if got := bondOfKernel(t, &k); got.Mode != uint8(nethelpers.BondMode8023AD) || got.LACPRate != 1 {
		t.Errorf("got %+v", got)
	}

	links, err := k.Links()
	if err != nil {
		t.Fatal(err)
	}

	for _, l := range links {
		if !l.Up() {
			t.Errorf("link %s is down", l.Name)
		}
	}
}

// TestBondIsSetOnce: a setting that the driver changed is not set again.
func TestBondIsSetOnce(t *testing.T) {
	var k netlinktest.Kernel

	bond := network.LinkSpecSpec{Name: "bond0", Logical: true, Up: true, Kind: network.LinkKindBond, BondMaster: network.BondMasterSpec{
		Mode: nethelpers.BondModeActiveBackup, MIIMon: 100,
	}}
	planner := newLinkPlanner()
	settle(t, &k, planner, []network.LinkSpecSpec{bond}, nil)

	bond.BondMaster.MIIMon = 50
	settle(t, &k, planner, []network.LinkSpecSpec{bond}, nil)

	changed := bondOfKernel(t, &k)
	changed.MIIMon = 64 // a driver that rounds

	links, err := k.Links()
	if err != nil {
		t.Fatal(err)
	}

	if err := k.SetLink(links[len(links)-1].Index, netlink.LinkChange{Kind: "bond", Bond: &changed, BondNow: links[len(links)-1].Bond}); err != nil {
		t.Fatal(err)
	}

	steps, p := round(t, &k, planner, []network.LinkSpecSpec{bond}, nil)
	if want := (map[string]string{"bond0": "refused: the driver of bond bond0 has not accepted all settings"}); len(steps) != 0 || !cmp.Equal(want, causes(p)) {
		t.Errorf("got steps %v, conditions %v, want none, %v", steps, causes(p), want)
	}
}

func bondOfKernel(t *testing.T, k *netlinktest.Kernel) netlink.Bond {
	t.Helper()

	links, err := k.Links()
	if err != nil {
		t.Fatal(err)
	}

	for _, l := range links {
		if l.Bond != nil {
			return *l.Bond
		}
	}

	t.Fatal("there is no bond")

	return netlink.Bond{}
}
