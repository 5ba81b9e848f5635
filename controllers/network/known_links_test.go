// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"testing"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
)

// TestAliasGoesFirst: what specs have set on a link that they mean by its alias is removed, although the alias is gone or another link has it.
func TestAliasGoesFirst(t *testing.T) {
	for _, moves := range []bool{false, true} {
		var k netlinktest.Kernel

		card := ethernet("eth0", 1)
		card.AltNames = []string{"net0"}
		index, other := k.Plug(card).Index, k.Plug(ethernet("eth1", 2)).Index

		links := []network.LinkSpecSpec{{Name: "net0", Up: true, MTU: 1300}}
		addresses := []network.AddressSpecSpec{{LinkName: "net0", Address: netip.MustParsePrefix("192.0.2.7/24"), Flags: nethelpers.AddressPermanent}}
		onLinks, onAddresses := newLinkPlanner(), &addressPlanner{}

		settle(t, &k, onLinks, links, nil)
		settle(t, &k, onAddresses, addresses, nil)

		if err := k.SetAlias(index, "net0", ""); err != nil {
			t.Fatal(err)
		}

		// A plan before the specs leave, too.
		round(t, &k, onLinks, links, nil)
		round(t, &k, onAddresses, addresses, nil)

		if moves {
			if err := k.SetAlias(other, "", "net0"); err != nil {
				t.Fatal(err)
			}
		}

		if did, _ := round(t, &k, onLinks, nil, links); !slices.Equal(did, []string{"link eth0: MTU 1500"}) {
			t.Errorf("another link gets the alias: %t: got %v, want the MTU of before", moves, did)
		}

		if did, _ := round(t, &k, onAddresses, nil, addresses); !slices.Equal(did, []string{"remove address 192.0.2.7/24 from eth0"}) {
			t.Errorf("another link gets the alias: %t: got %v, want that the address is removed", moves, did)
		}

		// The planners forget links that are gone, and specs.
		round(t, &k, onLinks, nil, nil)
		round(t, &k, onAddresses, nil, nil)

		if len(onLinks.links) != 0 || len(onAddresses.links) != 0 {
			t.Errorf("links %v and %v are not forgotten", onLinks.links, onAddresses.links)
		}
	}
}

// TestAliasMovesUnderASpec: a spec that means a link by its alias follows it to another link, and leaves nothing on the first one.
func TestAliasMovesUnderASpec(t *testing.T) {
	var k netlinktest.Kernel

	card := ethernet("eth0", 1)
	card.AltNames = []string{"net0"}
	first, second := k.Plug(card).Index, k.Plug(ethernet("eth1", 2)).Index

	links := []network.LinkSpecSpec{{Name: "net0", Up: true, MTU: 1300}}
	addresses := []network.AddressSpecSpec{{LinkName: "net0", Address: netip.MustParsePrefix("192.0.2.7/24"), Flags: nethelpers.AddressPermanent}}
	onLinks, onAddresses := newLinkPlanner(), &addressPlanner{}

	settle(t, &k, onLinks, links, nil)
	settle(t, &k, onAddresses, addresses, nil)

	if err := errors.Join(k.SetAlias(first, "net0", ""), k.SetAlias(second, "", "net0")); err != nil {
		t.Fatal(err)
	}

	if did := settle(t, &k, onLinks, links, nil); !slices.Equal(did, []string{"link eth0: MTU 1500", "link eth1: MTU 1300", "link eth1: up"}) {
		t.Errorf("links: got %v", did)
	}

	if did := settle(t, &k, onAddresses, addresses, nil); !slices.Equal(did, []string{"remove address 192.0.2.7/24 from eth0", "add address 192.0.2.7/24 to eth1"}) {
		t.Errorf("addresses: got %v", did)
	}

	if len(onLinks.links["net0"]) != 1 || len(onAddresses.links[addresses[0].ID()]) != 1 {
		t.Errorf("links %v and %v are not forgotten", onLinks.links, onAddresses.links)
	}
}

// TestSpecTakesOverALink: a spec by a link's name replaces the one by its alias. The setting that both have is not undone in between.
func TestSpecTakesOverALink(t *testing.T) {
	var k netlinktest.Kernel

	card := ethernet("eth0", 1)
	card.AltNames = []string{"net0"}
	k.Plug(card)

	before, after := []network.LinkSpecSpec{{Name: "net0", Up: true, MTU: 1300}}, []network.LinkSpecSpec{{Name: "eth0", Up: true, MTU: 1300}}
	planner := newLinkPlanner()

	settle(t, &k, planner, before, nil)

	if did := settle(t, &k, planner, after, before); len(did) != 0 {
		t.Errorf("got %v, want nothing", did)
	}

	if did := settle(t, &k, planner, nil, after); !slices.Equal(did, []string{"link eth0: MTU 1500"}) {
		t.Errorf("got %v, want the MTU of before", did)
	}
}

// forgetful is a kernel that accepts that a link is set up, and does not do it.
type forgetful struct{ netlinktest.Kernel }

func (f *forgetful) SetLink(index uint32, c netlink.LinkChange) error {
	c.Up = nil

	return f.Kernel.SetLink(index, c)
}

// TestNoStepTwiceInAReconcile: a change without effect is not repeated at once, which would use up its tries, and the other changes are made.
func TestNoStepTwiceInAReconcile(t *testing.T) {
	var k forgetful

	k.Plug(ethernet("eth0", 1))

	vlan := network.LinkSpecSpec{Name: "a", Logical: true, Up: true, Kind: network.LinkKindVLAN, ParentName: "eth0", VLAN: network.VLANSpec{VID: 7, Protocol: 0x8100}}
	specs := held[network.LinkSpecSpec]{wanted: []item[network.LinkSpecSpec]{{"a", vlan}, {"eth0", network.LinkSpecSpec{Name: "eth0", Up: true}}}}
	c := &specController[network.LinkSpecSpec]{kernel: netlink.NewObserver(&k), planner: newLinkPlanner(), tries: tries{}, passes: linkPasses}

	if _, _, err := c.converge(t.Context(), nil, func() (held[network.LinkSpecSpec], error) { return specs, nil }, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}

	for _, what := range []string{"link eth0: up", "create vlan link a", "link a: up"} {
		if try := c.tries[what]; try == nil || len(try.at) != 1 {
			t.Errorf("%s: got %+v, want one try", what, try)
		}
	}
}
