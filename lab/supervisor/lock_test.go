// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

// TestOneSupervisor checks that a second supervisor, which starts before the first one is in the state, changes nothing
// of the first.
func TestOneSupervisor(t *testing.T) {
	lab := &state.Lab{
		Dir: t.TempDir(), Name: "two",
		World:   world.World{Networks: []world.Network{{Name: "lab", Subnet4: netip.MustParsePrefix("10.5.0.0/24")}}},
		Nodes:   []state.Node{{Name: "a", Cards: []world.Card{{Network: "lab", MAC: "52:54:00:00:00:02"}}}},
		Cgroups: []string{filepath.Join(t.TempDir(), "talos-lab-two")},
	}
	if err := lab.Create(); err != nil {
		t.Fatal(err)
	}

	if err := os.Mkdir(lab.Cgroups[0], 0o755); err != nil {
		t.Fatal(err)
	}

	unlock, err := state.Lock(lab.Dir, "taken")
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(lab.SocketPath(), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := Run(t.Context(), lab.Dir, slog.New(slog.DiscardHandler), nil); err == nil || !strings.Contains(err.Error(), "another supervisor") {
		t.Errorf("got %v, want the other supervisor", err)
	}

	for _, path := range []string{lab.SocketPath(), lab.Cgroups[0]} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("a file of the first one was removed: %v", err)
		}
	}

	unlock()

	if unlock, err = state.Lock(lab.Dir, "taken"); err != nil {
		t.Fatalf("after the first one: %v", err)
	}

	unlock()
}
