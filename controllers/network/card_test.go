// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

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

// A link that replaces a network card is not removed for a logical link of its name, as a card is not.
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

// A card that its bond refuses stays up, and is not taken down for every plan.
func TestRefusedByItsMaster(t *testing.T) {
	var k netlinktest.Kernel

	card := ethernet("eth0", 1)
	card.Flags = unix.IFF_UP
	index := k.Plug(card).Index
	k.Plug(netlink.Link{Name: "bond0", Kind: "dummy"})

	wanted := held[network.LinkSpecSpec]{wanted: []item[network.LinkSpecSpec]{
		{"eth0", network.LinkSpecSpec{Name: "eth0", Up: true, BondSlave: network.BondSlave{MasterName: "bond0"}}},
	}}
	c := &specController[network.LinkSpecSpec]{kernel: netlink.NewObserver(&k), planner: newLinkPlanner(), tries: tries{}}

	for range 10 {
		now, err := c.kernel.Snapshot()
		if err != nil {
			t.Fatal(err)
		}

		p := c.planner.plan(wanted, now)
		c.carryOut(&p, now.Generation, nil, slog.New(slog.DiscardHandler))

		if l, _ := now.Link("eth0"); !l.Up() {
			t.Fatal("the card is down")
		}

		want := network.SpecConditionSpec{State: network.SpecRefused, Cause: "link eth0: master bond0: operation not supported"}
		if got := p.conditions["eth0"]; got != want {
			t.Errorf("got condition %v, want %v", got, want)
		}
	}

	prefix := fmt.Sprintf("SetLink %d ", index)
	want := []string{prefix + "up=false", prefix + "master=2", prefix + "up=true"}

	if diff := cmp.Diff(want, k.Calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
