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

// testAlias gives va a second name, another one, and none.
func testAlias(t *testing.T, k netlink.Kernel) {
	t.Helper()

	a, b := veth(t, k)

	for _, step := range []struct{ old, name string }{{"", "net0"}, {"net0", "net0"}, {"net0", "net1"}} {
		if err := k.SetAlias(a.Index, step.old, step.name); err != nil {
			t.Fatal(err)
		}

		if l := linkNamed(t, k, "va"); l.Alias != step.name || !slices.Equal(l.AltNames, []string{step.name}) {
			t.Errorf("from %q to %q: got alias %q and names %v", step.old, step.name, l.Alias, l.AltNames)
		}
	}

	if err := k.SetAlias(b.Index, "", "net1"); !errors.Is(err, unix.EEXIST) {
		t.Errorf("a name that another link has: got %v, want EEXIST", err)
	}

	if err := k.SetAlias(a.Index, "net1", ""); err != nil {
		t.Fatal(err)
	}

	if l := linkNamed(t, k, "va"); l.Alias != "" || len(l.AltNames) != 0 {
		t.Errorf("got alias %q and names %v, want none", l.Alias, l.AltNames)
	}
}

func TestFakeAlias(t *testing.T) {
	k := &netlinktest.Kernel{}
	k.Plug(netlink.Link{Name: "lo", Type: 772, MTU: 65536})
	testAlias(t, k)
}

func TestRealAlias(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	testAlias(t, open(t))
}
