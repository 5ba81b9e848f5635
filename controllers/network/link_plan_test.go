// SPDX-License-Identifier: Apache-2.0

package network

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
)

// The first link in the list of a bond becomes its slave first: the bond has the hardware address of that link.
func TestOrderOfSlaves(t *testing.T) {
	f := given(t, "", "")
	f.configure(t, documents("BondConfig\nname: bond0\nbondMode: active-backup\nlinks: [eth1, eth0]\n"))

	wanted := linkLayers(f, nil)

	var k netlinktest.Kernel

	k.Plug(ethernet("eth0", 1))
	k.Plug(ethernet("eth1", 2))

	var slaves []string

	for _, did := range settle(t, &k, newLinkPlanner(), wanted, nil) {
		if slave, ok := strings.CutSuffix(did, ": master bond0"); ok {
			slaves = append(slaves, slave)
		}
	}

	if want := []string{"link eth1", "link eth0"}; !slices.Equal(slaves, want) {
		t.Errorf("got %v, want %v", slaves, want)
	}
}

// A VLAN of 802.1ad and one of 802.1q may have the same number.
func TestVLANsOfTwoProtocols(t *testing.T) {
	var k netlinktest.Kernel

	k.Plug(ethernet("eth0", 1))

	vlan := func(name string, protocol nethelpers.VLANProtocol) network.LinkSpecSpec {
		return network.LinkSpecSpec{Name: name, Logical: true, Kind: network.LinkKindVLAN, ParentName: "eth0", VLAN: network.VLANSpec{VID: 7, Protocol: protocol}}
	}
	wanted := []network.LinkSpecSpec{vlan("a", nethelpers.VLANProtocol8021Q), vlan("b", 0x88a8)}
	planner := newLinkPlanner()

	settle(t, &k, planner, wanted, nil)

	if _, p := round(t, &k, planner, wanted, nil); len(p.conditions) != 0 {
		t.Errorf("got %v, want two VLANs", causes(p))
	}
}

// After multicast is as it was, another program may change it.
func TestMulticastIsLeftAlone(t *testing.T) {
	var k netlinktest.Kernel

	card := ethernet("eth0", 1)
	card.Flags |= unix.IFF_MULTICAST
	k.Plug(card)

	off, planner := false, newLinkPlanner()
	plain := []network.LinkSpecSpec{{Name: "eth0", Up: true}}

	settle(t, &k, planner, []network.LinkSpecSpec{{Name: "eth0", Up: true, Multicast: &off}}, nil)

	if got := settle(t, &k, planner, plain, nil); !slices.Equal(got, []string{"link eth0: multicast on"}) {
		t.Errorf("got %v, want that it is restored", got)
	}

	if err := k.SetLink(1, netlink.LinkChange{Multicast: &off}); err != nil {
		t.Fatal(err)
	}

	if got := settle(t, &k, planner, plain, nil); len(got) != 0 {
		t.Errorf("got %v, want no change", got)
	}
}
