// SPDX-License-Identifier: Apache-2.0

package netlink_test

import (
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
	"github.com/seed-59268b81/talos/sys/nstest"
)

func TestCreateUp(t *testing.T) { testCreateUp(t, &netlinktest.Kernel{}) }

func TestRealCreateUp(t *testing.T) {
	if nstest.Isolate(t) {
		testCreateUp(t, open(t))
	}
}

// testCreateUp creates links that are up, and with their master.
func testCreateUp(t *testing.T, k netlink.Kernel) {
	t.Helper()

	named := func(name string) netlink.Link {
		t.Helper()

		links, err := k.Links()
		if err != nil {
			t.Fatal(err)
		}

		i := slices.IndexFunc(links, func(l netlink.Link) bool { return l.Name == name })
		if i < 0 {
			return netlink.Link{}
		}

		return links[i]
	}

	if err := k.CreateLink(netlink.NewLink{Name: "br0", Kind: "bridge", Up: true}); errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("this kernel has no bridge")
	} else if err != nil {
		t.Fatal(err)
	}

	bridge := named("br0")
	if !bridge.Up() {
		t.Error("the bridge is down")
	}

	if err := k.CreateLink(netlink.NewLink{Name: "va", Kind: "veth", VethPeer: "vb", Up: true, Master: bridge.Index}); err != nil {
		t.Fatal(err)
	}

	if va, vb := named("va"), named("vb"); !va.Up() || va.Master != bridge.Index || vb.Up() || vb.Master != 0 {
		t.Errorf("got va up %t with master %d, vb up %t with master %d; want va up and in the bridge %d, and vb neither", va.Up(), va.Master, vb.Up(), vb.Master, bridge.Index)
	}

	// No link is left of one that cannot have its master.
	if err := k.CreateLink(netlink.NewLink{Name: "vc", Kind: "veth", VethPeer: "vd", Up: true, Master: named("vb").Index}); !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("with a master that is not a bridge: got %v, want %v", err, unix.EOPNOTSUPP)
	}

	if left := named("vc"); left.Index != 0 {
		t.Errorf("a link that was not created is there: %+v", left)
	}
}
