// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
)

// bondWithVLANs returns the links of a bond of two new links, twenty VLANs on it, and a VRF with two of them.
func bondWithVLANs(t *testing.T) (links []network.LinkSpecSpec) {
	t.Helper()

	text := []string{
		"VethConfig\nname: a\npeer: {name: far-a}", "VethConfig\nname: b\npeer: {name: far-b}",
		"BondConfig\nname: bond0\nlinks: [a, b]\nbondMode: 802.3ad\nmiimon: 100\nlacpRate: fast",
		"VRFConfig\nname: blue\ntable: \"123\"\nlinks: [vlan1, vlan2]",
	}

	for n := range 20 {
		text = append(text, fmt.Sprintf("VLANConfig\nname: vlan%d\nparent: bond0\nvlanID: %d", n+1, 100+n))
	}

	f := given(t, "", "")
	f.configure(t, documents(strings.Join(text, "\n---\n")))

	return slices.DeleteFunc(linkLayers(f, remarks{}), func(s network.LinkSpecSpec) bool { return !s.Logical })
}

// TestBondInOneReconcile makes all links without an event of the kernel, and with few reads of it.
func TestBondInOneReconcile(t *testing.T) {
	var k netlinktest.Kernel

	specs := held[network.LinkSpecSpec]{}
	for _, s := range bondWithVLANs(t) {
		specs.wanted = append(specs.wanted, item[network.LinkSpecSpec]{s.ID(), s})
	}

	c := &specController[network.LinkSpecSpec]{
		kernel: netlink.NewObserver(&k), touches: netlink.WatchAll, planner: newLinkPlanner(), tries: tries{}, passes: linkPasses,
	}

	all := func() (held[network.LinkSpecSpec], error) { return specs, nil }

	_, p, err := c.converge(t.Context(), nil, all, slog.New(slog.DiscardHandler))
	if err != nil || len(p.conditions) != 0 {
		t.Errorf("got %v, conditions %v, want none", err, p.conditions)
	}

	if got := k.Reads(); got > 4*linkPasses { // links, addresses, routes and rules
		t.Errorf("got %d reads of the kernel, want at most %d", got, 4*linkPasses)
	}

	links, err := k.Links()
	if err != nil {
		t.Fatal(err)
	}

	kinds := map[string]int{}

	for _, l := range links {
		kinds[l.Kind]++

		if !l.Up() {
			t.Errorf("link %s is down", l.Name)
		}

		if slave := l.Name == "a" || l.Name == "b" || l.Name == "vlan1" || l.Name == "vlan2"; slave != (l.Master != 0) {
			t.Errorf("link %s has the master %d", l.Name, l.Master)
		}
	}

	if got, want := fmt.Sprint(kinds), "map[bond:1 veth:4 vlan:20 vrf:1]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestBondIsUpWithItsSlaves checks the order of what takes the kernel seconds in another order.
func TestBondIsUpWithItsSlaves(t *testing.T) {
	var k netlinktest.Kernel

	links, planner := bondWithVLANs(t), newLinkPlanner()
	made := settle(t, &k, planner, links, nil)
	up := slices.Index(made, "link bond0: up")

	for _, slave := range []string{"link a: master bond0", "link b: master bond0"} {
		if at := slices.Index(made, slave); at < 0 || up < at {
			t.Errorf("%s is step %d, and the bond is set up in step %d", slave, at, up)
		}
	}

	removed, _ := round(t, &k, planner, nil, links)
	first := slices.IndexFunc(removed, func(what string) bool { return strings.HasPrefix(what, "remove vlan link ") })

	if bond := slices.Index(removed, "remove bond link bond0"); bond < 0 || first < bond {
		t.Errorf("the first VLAN is removed in step %d, and the bond, which the kernel removes with all VLANs, in step %d", first, bond)
	}
}

// TestParentsFirst checks that a loop of parents, which no kernel has, ends.
func TestParentsFirst(t *testing.T) {
	var leaving []item[network.LinkSpecSpec]

	for _, link := range []string{"a/b", "b/a", "c/d", "d/", "e/c"} {
		name, parent, _ := strings.Cut(link, "/")
		leaving = append(leaving, item[network.LinkSpecSpec]{name, network.LinkSpecSpec{Name: name, ParentName: parent}})
	}

	var got []string

	for _, s := range parentsFirst(leaving) {
		got = append(got, s.id)
	}

	if want := []string{"d", "c", "e", "a", "b"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
