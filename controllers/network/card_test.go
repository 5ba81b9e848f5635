// SPDX-License-Identifier: Apache-2.0

package network

import (
	"slices"
	"testing"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
	"github.com/seed-59268b81/talos/sys/platform"
)

func TestGivenCards(t *testing.T) {
	for _, tt := range []struct {
		name, kind       string
		metal, container bool
	}{
		{"eth0", "", true, true},
		{"eth0", "tun", false, true},
		{"eth12", "veth", false, true},
		{"eth0", "bridge", false, false},
		{"eth0.5", "vlan", false, false},
		{"veth2ceeade4", "veth", false, false},
		{"tap0", "tun", false, false},
	} {
		for mode, want := range map[platform.Mode]bool{platform.Metal: tt.metal, platform.Container: tt.container} {
			l := netlink.Link{Name: tt.name, Kind: tt.kind, Type: uint16(nethelpers.LinkTypeEther)}

			s := linkStatus(asCard(l, platform.Platform{Mode: mode}), nil)
			if s.Physical() != want {
				t.Errorf("%s of kind %q, %s: got a card: %t, want %t", tt.name, tt.kind, mode, s.Physical(), want)
			}
		}
	}
}

// What stands in for a network card is not removed for a logical link of its name, as a card is not.
func TestGivenCardStays(t *testing.T) {
	for mode, removed := range map[platform.Mode]bool{platform.Metal: true, platform.Container: false} {
		var k netlinktest.Kernel

		k.Plug(netlink.Link{Name: "eth0", Kind: "veth"})

		bond := network.LinkSpecSpec{Name: "eth0", Logical: true, Kind: network.LinkKindBond}
		planner := newLinkPlanner()
		planner.platform = platform.Platform{Mode: mode}

		did, p := round(t, &k, planner, []network.LinkSpecSpec{bond}, nil)
		if got := slices.Contains(did, "remove veth link eth0"); got != removed {
			t.Errorf("%s: the link is removed: got %t, want %t", mode, got, removed)
		}

		if got := p.conditions["eth0"].State == network.SpecConflict; got == removed {
			t.Errorf("%s: got condition %v", mode, p.conditions["eth0"])
		}
	}
}
