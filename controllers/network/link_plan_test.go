// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net"
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

// TestAddressIsRestored: a link has the hardware address of before when no spec sets one any more, and a bond that of a slave.
func TestAddressIsRestored(t *testing.T) {
	var k netlinktest.Kernel

	card, slave := ethernet("eth0", 1), ethernet("eth1", 2)
	slave.PermanentAddress = slave.Address
	k.Plug(card)
	k.Plug(slave)

	specs := func(address ...byte) []network.LinkSpecSpec {
		return []network.LinkSpecSpec{
			{Name: "eth0", Up: true, HardwareAddress: address},
			{Name: "dummy0", Logical: true, Kind: network.LinkKindDummy, Up: true, HardwareAddress: address},
			{Name: "bond0", Logical: true, Kind: network.LinkKindBond, Up: true, HardwareAddress: address},
			{Name: "eth1", Up: true, BondSlave: network.BondSlave{MasterName: "bond0"}},
		}
	}
	addresses := func() map[string]string {
		links, err := k.Links()
		if err != nil {
			t.Fatal(err)
		}

		out := map[string]string{}
		for _, l := range links {
			out[l.Name] = net.HardwareAddr(l.Address).String()
		}

		return out
	}
	planner := newLinkPlanner()

	settle(t, &k, planner, specs(), nil)

	before := addresses()
	own := "02:00:00:00:00:07"

	settle(t, &k, planner, specs(2, 0, 0, 0, 0, 7), nil)

	if now := addresses(); now["eth0"] != own || now["dummy0"] != own || now["bond0"] != own {
		t.Fatalf("got %v, want %s", now, own)
	}

	settle(t, &k, planner, specs(), nil)

	if now := addresses(); now["eth0"] != before["eth0"] || now["dummy0"] != before["dummy0"] || now["bond0"] != "52:54:00:00:00:02" {
		t.Errorf("got %v, want those of %v", now, before)
	}

	if err := k.SetLink(1, netlink.LinkChange{Address: []byte{2, 0, 0, 0, 0, 9}}); err != nil {
		t.Fatal(err)
	}

	if got := settle(t, &k, planner, specs(), nil); len(got) != 0 {
		t.Errorf("another program has set an address: got %v, want no change", got)
	}
}
