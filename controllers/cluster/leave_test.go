// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// TestLeave: a machine that no longer takes part is forgotten by all sources, and forgets the others.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		a, _ := machine(t, w, "a", t.TempDir())

		b, _ := machine(t, w, "b", t.TempDir())

		wantMembers(t, b, "node-a", "node-b")

		controllertest.Set(a, cluster.ConfigID, cluster.ConfigSpec{})
		wantMembers(t, b, "node-b")

		for _, at := range []string{first, second} {
			if got := w.knows(at); got != "b" {
				t.Errorf("%s: got %q, want b alone", at, got)
			}
		}

		wantMembers(t, a, "node-a") // its own affiliate is of another controller

		time.Sleep(2 * farewell)

		w.mu.Lock()
		defer w.mu.Unlock()

		for s := range w.sessions {
			if s.options.AffiliateID == "a" {
				t.Errorf("the session with %s still runs", s.options.Endpoint)
			}
		}
	})
}

// TestReset: a machine that is reset is forgotten by all sources, and stays so.
func TestReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		a, _ := machine(t, w, "a", t.TempDir())
		b, _ := machine(t, w, "b", t.TempDir())
		wantMembers(t, b, "node-a", "node-b")

		controllertest.Set(a, runtime.MachineResetSignalID, runtime.MachineResetSignalSpec{})
		wantMembers(t, b, "node-b")

		moved := own("a")
		moved.Addresses = addrs("172.20.0.200")
		controllertest.Set(a, "a", moved)
		a.Quiet(time.Hour)

		for _, at := range []string{first, second} {
			if got := w.knows(at); got != "b" {
				t.Errorf("%s: got %q, want b alone", at, got)
			}
		}

		sources, err := typed.List[cluster.DiscoverySourceSpec](t.Context(), a, "")
		if err != nil || len(sources) > 0 {
			t.Errorf("it still has the sources %v, %v", sources, err)
		}
	})
}

// TestOtherCluster: a machine that changes to another cluster knows only the machines of that one.
func TestOtherCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		a, _ := machine(t, w, "a", t.TempDir())
		b, _ := machine(t, w, "b", t.TempDir())
		wantMembers(t, a, "node-a", "node-b")

		other := settings()
		other.ServiceClusterID = "other"
		controllertest.Set(a, cluster.ConfigID, other)

		wantMembers(t, a, "node-a")
		wantMembers(t, b, "node-b")

		if got := w.knows("other " + first); got != "a" {
			t.Errorf("the other cluster: got %q, want a alone", got)
		}
	})
}
