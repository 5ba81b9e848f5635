// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/lab/qemu"
	"github.com/seed-59268b81/talos/test/replay"
)

// bootedStates is how many states are booted, at least one of each sort.
const bootedStates = 12

// chosen returns which states of each phase are booted: of each sort that was found one, then others of the sorts that came most often.
func (m *crashed) chosen() []map[int]bool {
	type sort struct {
		phase  int
		states []int
	}

	var sorts []*sort

	for i, p := range m.phases {
		of := map[string]*sort{}

		for n, after := range p.found {
			s := of[after.String()]
			if s == nil {
				s = &sort{phase: i}
				of[after.String()] = s
				sorts = append(sorts, s)
			}

			s.states = append(s.states, n)
		}
	}

	out, count := make([]map[int]bool, len(m.phases)), 0

	for i := range out {
		out[i] = map[int]bool{}
	}

	// The place in a sort moves, so that the next round takes other states: from the middle, then from the end.
	for round := 0; count < max(bootedStates, len(sorts)) && round < bootedStates; round++ {
		for _, s := range sorts {
			n := s.states[len(s.states)*(2*round+1)/(2*round+2)]
			if !out[s.phase][n] && count < max(bootedStates, len(sorts)) {
				out[s.phase][n] = true
				count++
			}
		}
	}

	return out
}

// boots starts the machine from some of the states, and checks that it is what the state was found to be.
func (m *crashed) boots(recording *replay.Recording) {
	m.t.Helper()

	// The next start writes a record of its own.
	log := m.c.Lab.State().DiskLogPath(m.c.Node.Name)
	if err := errors.Join(os.Rename(log, filepath.Join(m.t.TempDir(), "first.log")), os.WriteFile(log, nil, 0o600)); err != nil {
		m.t.Fatal(err)
	}

	chosen := m.chosen()

	for i, p := range m.phases {
		n := 0

		for s := range p.states(recording) {
			if after := p.found[n]; chosen[i][n] {
				m.c.Run(fmt.Sprintf("%s, state %d, %s", p.name, n, after), func(t *testing.T) { m.boot(t, s, after) })
			}

			n++
		}
	}
}

// boot starts the machine from a state.
func (m *crashed) boot(t *testing.T, s *replay.State, after afterCut) {
	t.Log(s)
	m.put(t, s)

	if err := m.c.Node.PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}

	switch {
	case after.resets:
		m.off(t)

		return
	case after.value == none:
		m.c.Maintenance()
	default:
		m.c.Answers()
		m.shows(t, func(text string) bool { return strings.Contains(text, triedSetting) == (after.value == "24") },
			"get", "machineconfig", "persistent", "-o", "yaml")
	}

	if after.was != "" {
		m.shows(t, func(text string) bool { return strings.Contains(text, string(after.ends)) }, "get", "trials")
	}

	if err := m.c.Node.PowerCut(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// put makes a state the disk of the machine.
func (m *crashed) put(t *testing.T, s *replay.State) {
	t.Helper()

	lab := m.c.Lab.State()
	raw := filepath.Join(t.TempDir(), "state.raw")

	if err := qemu.CopyBase(lab.BasePath(), raw); err != nil {
		t.Fatal(err)
	}

	f, err := os.OpenFile(raw, os.O_RDWR, 0)
	if err == nil {
		err = f.Truncate(s.Size())
	}

	if err == nil {
		err = s.Put(f)
	}

	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}

	pack(t, "qemu-img", "convert", "-O", "qcow2", raw, lab.DiskPath(m.c.Node.Name))
}
