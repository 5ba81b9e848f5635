// SPDX-License-Identifier: Apache-2.0

package network

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
)

// round plans once against a kernel, executes the steps, and returns their descriptions and the plan.
func round[S layered](t *testing.T, kernel netlink.Kernel, pl planner[S], wanted, leaving []S) (did []string, p plan) {
	t.Helper()

	o := netlink.NewObserver(kernel)

	now, err := o.Snapshot()
	if err != nil {
		t.Fatal(err)
	}

	items := func(specs []S) (out []item[S]) {
		for _, s := range specs {
			out = append(out, item[S]{s.ID(), s})
		}

		return out
	}

	p = pl.plan(held[S]{items(wanted), items(leaving)}, now)

	for _, s := range p.steps {
		did = append(did, s.what)

		if err := o.Change(netlink.WatchAll, s.do); err != nil {
			t.Fatalf("%s: %v", s.what, err)
		}
	}

	return did, p
}

// settle plans until there are no more steps, and returns the descriptions of all steps.
func settle[S layered](t *testing.T, kernel netlink.Kernel, pl planner[S], wanted, leaving []S) []string {
	t.Helper()

	var all []string

	for range 10 {
		did, _ := round(t, kernel, pl, wanted, leaving)
		if len(did) == 0 {
			return all
		}

		all = append(all, did...)
		leaving = nil
	}

	t.Fatalf("it does not settle:\n%s", strings.Join(all, "\n"))

	return nil
}

func newLinkPlanner() *linkPlanner { return &linkPlanner{changed: map[uint32]changedLink{}} }

func TestPlanLinks(t *testing.T) {
	var k netlinktest.Kernel

	k.Plug(ethernet("eth0", 1))
	k.Plug(ethernet("eth1", 2))

	bond := network.LinkSpecSpec{Name: "bond0", Logical: true, Up: true, Kind: network.LinkKindBond, BondMaster: network.BondMasterSpec{Mode: 1, MIIMon: 100}}
	slave := network.LinkSpecSpec{Name: "eth0", Up: true, MTU: 9000, BondSlave: network.BondSlave{MasterName: "bond0"}}
	vlan := network.LinkSpecSpec{Name: "bond0.7", Logical: true, Up: true, Kind: network.LinkKindVLAN, ParentName: "bond0", VLAN: network.VLANSpec{VID: 7, Protocol: 0x8100}}
	bridge := network.LinkSpecSpec{Name: "br0", Logical: true, Up: true, Kind: network.LinkKindBridge}
	port := network.LinkSpecSpec{Name: "eth1", Up: true, BridgeSlave: network.BridgeSlave{MasterName: "br0"}}
	planner := newLinkPlanner()

	for _, tt := range []struct {
		name            string
		wanted, leaving []network.LinkSpecSpec
		want            []string
	}{
		{
			name: "made", wanted: []network.LinkSpecSpec{vlan, slave, bond, bridge, port},
			want: []string{
				"link eth0: MTU 9000", "link eth0: up", "create bond link bond0", "create bridge link br0", "link eth1: up",
				"link eth0: master bond0", "link bond0: up", "link eth1: master br0", "create vlan link bond0.7",
			},
		},
		{name: "nothing to do", wanted: []network.LinkSpecSpec{vlan, slave, bond, bridge, port}, want: nil},
		{
			name:   "changed",
			wanted: []network.LinkSpecSpec{vlan, slave, bond, func() network.LinkSpecSpec { b := bridge; b.BridgeMaster.STP.Enabled = true; return b }(), port},
			want:   []string{"link br0: bridge settings"},
		},
		{
			name:   "what cannot be changed is created again",
			wanted: []network.LinkSpecSpec{func() network.LinkSpecSpec { v := vlan; v.VLAN.VID = 8; return v }()},
			want:   []string{"remove vlan link bond0.7", "create vlan link bond0.7"},
		},
		{
			name:   "settings taken back",
			wanted: []network.LinkSpecSpec{{Name: "eth0", Up: true}, bond, port},
			want:   []string{"link eth0: MTU 1500", "link eth0: no master"},
		},
		{
			name: "removed", leaving: []network.LinkSpecSpec{vlan, slave, bond, port, bridge},
			want: []string{"remove bond link bond0", "link eth1: no master", "remove bridge link br0", "remove vlan link bond0.7"},
		},
	} {
		if diff := cmp.Diff(tt.want, settle(t, &k, planner, tt.wanted, tt.leaving)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A link that cannot have all its settings has a condition, gets the other settings, and blocks no other link.
func TestLinkConditions(t *testing.T) {
	var k netlinktest.Kernel

	card := ethernet("eth0", 1)
	card.MinMTU, card.MaxMTU, card.AltNames = 68, 1500, []string{"enp0s3"}
	k.Plug(card)

	vlan := func(name, parent string, id uint16) network.LinkSpecSpec {
		return network.LinkSpecSpec{Name: name, Logical: true, Up: true, Kind: network.LinkKindVLAN, ParentName: parent, VLAN: network.VLANSpec{VID: id, Protocol: 0x8100}}
	}
	wanted := []network.LinkSpecSpec{
		{Name: "eth0", Up: true, MTU: 9000},
		{Name: "enp0s3", MTU: 1400},
		{Name: "eth9", Up: true},
		{Name: "dummy-is-too-long", Logical: true, Kind: network.LinkKindDummy},
		vlan("a.7", "eth0", 7), vlan("b.7", "eth0", 7), vlan("c.8", "eth9", 8),
		{Name: "dummy1", Logical: true, Kind: network.LinkKindDummy, Up: true, BridgeSlave: network.BridgeSlave{MasterName: "br9"}},
	}
	planner := newLinkPlanner()
	settle(t, &k, planner, wanted, nil)

	_, p := round(t, &k, planner, wanted, nil)
	got := causes(p)
	want := map[string]string{
		"eth0":              "refused: the driver of link eth0 supports MTUs from 68 to 1500, not 9000",
		"eth9":              "waiting: the link does not exist",
		"dummy-is-too-long": "refused: the name dummy-is-too-long is longer than the kernel's 15 bytes",
		"b.7":               "conflict: VLAN 7 of link eth0 is already used by a.7",
		"c.8":               "waiting: parent link eth9 does not exist",
		"dummy1":            "waiting: master link br9 does not exist",
		"enp0s3":            "conflict: the link is already configured by eth0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	links, _ := k.Links()
	for _, l := range links {
		if !l.Up() {
			t.Errorf("link %s is down", l.Name)
		}
	}
}

func TestPlanAddresses(t *testing.T) {
	spec := func(link, address string) network.AddressSpecSpec {
		return addressSpec(link, prefix(address), network.LayerConfiguration)
	}
	specs := func(s ...network.AddressSpecSpec) []network.AddressSpecSpec { return s }
	dhcp := spec("eth0", "2001:db8::1/128")
	dhcp.Layer = network.LayerOperator

	for _, tt := range []struct {
		name            string
		wanted, leaving []network.AddressSpecSpec
		have            []netlink.Address // on eth0
		mtu             uint32
		steps           []string
		conditions      map[string]string
	}{
		{name: "new", wanted: specs(spec("eth0", "10.0.0.1/24")), steps: []string{"add address 10.0.0.1/24 to eth0"}},
		{name: "by another name", wanted: specs(spec("enp0s3", "10.0.0.1/24")), steps: []string{"add address 10.0.0.1/24 to eth0"}},
		{name: "there", wanted: specs(spec("eth0", "10.0.0.1/24")), have: []netlink.Address{{Prefix: prefix("10.0.0.1/24")}}},
		{name: "there, with the kernel's own flags", wanted: specs(spec("eth0", "2001:db8::1/64")), have: []netlink.Address{{Prefix: prefix("2001:db8::1/64"), Flags: unix.IFA_F_TENTATIVE}}},
		{name: "there, in the kernel's scope", wanted: specs(spec("eth0", "fec0::1/64")), have: []netlink.Address{{Prefix: prefix("fec0::1/64")}}},
		{
			name: "there, but not for good", wanted: specs(spec("eth0", "2001:db8::1/64")), have: []netlink.Address{{Prefix: prefix("2001:db8::1/64"), Flags: unix.IFA_F_MANAGETEMPADDR}},
			steps: []string{"replace address 2001:db8::1/64 on eth0 by 2001:db8::1/64"},
		},
		{name: "no link", wanted: specs(spec("eth9", "10.0.0.1/24")), conditions: map[string]string{"eth9/10.0.0.1/24": "waiting: link eth9 does not exist"}},
		{
			name: "one address, two lengths: the layer decides", wanted: specs(dhcp, spec("eth0", "2001:db8::1/64")),
			have:       []netlink.Address{{Prefix: prefix("2001:db8::1/128")}},
			steps:      []string{"replace address 2001:db8::1/128 on eth0 by 2001:db8::1/64"},
			conditions: map[string]string{"eth0/2001:db8::1/128": "conflict: the address is already set by eth0/2001:db8::1/64"},
		},
		{
			name: "one address, two lengths: the loser goes", wanted: specs(spec("eth0", "2001:db8::1/64")), leaving: specs(dhcp),
			have: []netlink.Address{{Prefix: prefix("2001:db8::1/64")}},
		},
		{
			name: "no IPv6 on a small MTU", wanted: specs(spec("eth0", "2001:db8::1/64"), spec("eth0", "10.0.0.1/24")), mtu: 1000,
			steps:      []string{"add address 10.0.0.1/24 to eth0"},
			conditions: map[string]string{"eth0/2001:db8::1/64": "waiting: link eth0 has an MTU of 1000, and IPv6 needs 1280"},
		},
		{
			name: "another machine has it", wanted: specs(spec("eth0", "2001:db8::1/64")), have: []netlink.Address{{Prefix: prefix("2001:db8::1/64"), Flags: unix.IFA_F_DADFAILED}},
			conditions: map[string]string{"eth0/2001:db8::1/64": "conflict: another machine on link eth0 uses the address"},
		},
		{
			name: "goes", leaving: specs(spec("eth0", "10.0.0.1/24"), spec("eth9", "10.0.0.1/24")), have: []netlink.Address{{Prefix: prefix("10.0.0.1/24")}, {Prefix: prefix("10.0.0.2/24")}},
			steps: []string{"remove address 10.0.0.1/24 from eth0"},
		},
		{name: "already removed", leaving: specs(spec("eth0", "10.0.0.1/24"))},
		{
			name: "another comes before one goes", leaving: specs(spec("eth0", "10.0.0.1/24")), wanted: specs(spec("eth0", "10.0.0.2/24")),
			have: []netlink.Address{{Prefix: prefix("10.0.0.1/24")}}, steps: []string{"add address 10.0.0.2/24 to eth0", "remove address 10.0.0.1/24 from eth0"},
		},
	} {
		k := netlinktest.Kernel{Promote: true}
		card := ethernet("eth0", 1)
		card.AltNames = []string{"enp0s3"}

		if tt.mtu != 0 {
			card.MTU = tt.mtu
		}

		index := k.Plug(card).Index

		for _, a := range tt.have {
			a.LinkIndex = index
			if err := k.AddAddress(a); err != nil {
				t.Fatal(err)
			}
		}

		planner := &addressPlanner{leavingSince: map[string]time.Time{}}
		steps, p := round(t, &k, planner, tt.wanted, tt.leaving)

		if diff := cmp.Diff(tt.steps, steps); diff != "" {
			t.Errorf("%s: steps (-want +got):\n%s", tt.name, diff)
		}

		if diff := cmp.Diff(tt.conditions, causes(p), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: conditions (-want +got):\n%s", tt.name, diff)
		}

		if again, _ := round(t, &k, planner, tt.wanted, tt.leaving); again != nil {
			t.Errorf("%s: not quiet: %v", tt.name, again)
		}
	}
}

func causes(p plan) map[string]string {
	out := map[string]string{}
	for id, c := range p.conditions {
		out[id] = c.State.String() + ": " + c.Cause
	}

	return out
}

func TestPlanRoutes(t *testing.T) {
	def := routeSpec("eth0", netip.Prefix{}, addr("10.0.0.1"), 1024, network.LayerOperator)
	second := routeSpec("eth1", netip.Prefix{}, addr("10.1.0.1"), 1024, network.LayerOperator)
	configured := routeSpec("eth1", netip.Prefix{}, addr("10.1.0.9"), 1024, network.LayerConfiguration)
	onLink := routeSpec("eth0", prefix("172.16.0.1/32"), netip.Addr{}, 1024, network.LayerOperator)
	behind := routeSpec("eth0", prefix("10.9.0.0/16"), addr("172.16.0.1"), 1024, network.LayerOperator)
	down := routeSpec("eth2", prefix("10.2.0.0/16"), addr("10.0.0.1"), 1024, network.LayerOperator)
	sourced := def
	sourced.Source = addr("10.0.0.77")
	six := routeSpec("eth0", netip.Prefix{}, addr("fe80::1"), 1024, network.LayerOperator)
	six2 := routeSpec("eth1", netip.Prefix{}, addr("fe80::1"), 1024, network.LayerOperator)
	worst := routeSpec("eth0", netip.Prefix{}, addr("10.0.0.1"), math.MaxUint32, network.LayerOperator)
	worst2 := routeSpec("eth1", netip.Prefix{}, addr("10.1.0.1"), math.MaxUint32, network.LayerOperator)
	specs := func(s ...network.RouteSpecSpec) []network.RouteSpecSpec { return s }

	type stage struct {
		wanted, leaving []network.RouteSpecSpec
		steps           []string
		conditions      map[string]string
	}

	const loses = "applied: metric 1025 instead of 1024, which is used by "

	for _, tt := range []struct {
		name   string
		stages []stage
	}{
		{"a gateway behind a route of its own, and a link that is down", []stage{{
			wanted:     specs(behind, down, onLink),
			steps:      []string{"set route 172.16.0.1/32 dev eth0 metric 1024 table 254", "set route 10.9.0.0/16 via 172.16.0.1 dev eth0 metric 1024 table 254"},
			conditions: map[string]string{"inet4/10.0.0.1/10.2.0.0/16/1024": "waiting: link eth2 is down"},
		}}},
		{"another gateway, then none", []stage{
			{wanted: specs(def), steps: []string{"set route default via 10.0.0.1 dev eth0 metric 1024 table 254"}},
			{
				wanted: specs(routeSpec("eth0", netip.Prefix{}, addr("10.0.0.9"), 1024, network.LayerOperator)), leaving: specs(def),
				steps: []string{"set route default via 10.0.0.9 dev eth0 metric 1024 table 254", "remove route default via 10.0.0.1 dev eth0 metric 1024 table 254"},
			},
			{leaving: specs(routeSpec("eth0", netip.Prefix{}, addr("10.0.0.9"), 1024, network.LayerOperator)), steps: []string{"remove route default via 10.0.0.9 dev eth0 metric 1024 table 254"}},
		}},
		{"two cards: the first wins, the other is second", []stage{
			{
				wanted:     specs(second, def),
				steps:      []string{"set route default via 10.0.0.1 dev eth0 metric 1024 table 254", "set route default via 10.1.0.1 dev eth1 metric 1025 table 254"},
				conditions: map[string]string{second.ID(): loses + def.ID()},
			},
			{
				wanted: specs(second), leaving: specs(def), // the second replaces the first, of which nothing stays
				steps: []string{"set route default via 10.1.0.1 dev eth1 metric 1024 table 254", "remove route default via 10.0.0.1 dev eth0 metric 1024 table 254", "remove route default via 10.1.0.1 dev eth1 metric 1025 table 254"},
			},
			{leaving: specs(second), steps: []string{"remove route default via 10.1.0.1 dev eth1 metric 1024 table 254"}},
		}},
		{"two cards: the configuration wins", []stage{{
			wanted:     specs(def, configured),
			steps:      []string{"set route default via 10.1.0.9 dev eth1 metric 1024 table 254", "set route default via 10.0.0.1 dev eth0 metric 1025 table 254"},
			conditions: map[string]string{def.ID(): loses + configured.ID()},
		}}},
		{"IPv6 has one of a key too", []stage{{
			wanted:     specs(six2, six),
			steps:      []string{"set route default via fe80::1 dev eth0 metric 1024 table 254", "set route default via fe80::1 dev eth1 metric 1025 table 254"},
			conditions: map[string]string{six2.ID(): loses + six.ID()},
		}}},
		{"no metric is left", []stage{{
			wanted:     specs(worst, worst2),
			steps:      []string{"set route default via 10.0.0.1 dev eth0 metric 4294967295 table 254"},
			conditions: map[string]string{worst2.ID(): "conflict: metric 4294967295 is used by " + worst.ID() + ", and there is none above it"},
		}}},
		{"the source has to come", []stage{{wanted: specs(sourced), conditions: map[string]string{sourced.ID(): "waiting: no link has the source address 10.0.0.77"}}}},
	} {
		k := waysKernel(t)
		planner := &routePlanner{set: map[string][]netlink.Route{}}

		for i, s := range tt.stages {
			var steps []string

			did, p := round(t, k, planner, s.wanted, s.leaving)
			for conditions := s.conditions; did != nil; did, p = round(t, k, planner, s.wanted, nil) {
				steps = append(steps, did...)

				if diff := cmp.Diff(conditions, causes(p), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s, stage %d: conditions (-want +got):\n%s", tt.name, i, diff)
				}
			}

			if diff := cmp.Diff(s.conditions, causes(p), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, stage %d: conditions (-want +got):\n%s", tt.name, i, diff)
			}

			if diff := cmp.Diff(s.steps, steps); diff != "" {
				t.Errorf("%s, stage %d: steps (-want +got):\n%s", tt.name, i, diff)
			}
		}

		routes, _ := k.Routes()
		if last := tt.stages[len(tt.stages)-1]; len(last.wanted) == 0 && slices.ContainsFunc(routes, func(r netlink.Route) bool { return r.Protocol != unix.RTPROT_KERNEL }) {
			t.Errorf("%s: something stayed: %v", tt.name, routes)
		}
	}
}
