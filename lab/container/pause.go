// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/lab/machine"
)

// Pause stops all processes of the machine.
func (m *Machine) Pause(ctx context.Context) error { return m.freeze(ctx, "pause", true) }

// Resume ends a pause.
func (m *Machine) Resume(ctx context.Context) error { return m.freeze(ctx, "resume", false) }

func (m *Machine) freeze(ctx context.Context, op string, frozen bool) error {
	r := m.run.Load()
	if r == nil {
		return fmt.Errorf("%s %s: %w", op, m.cfg.Name, machine.ErrOff)
	}

	// Under the lock the cgroup is that of the boot, and is not removed.
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.boot.ended {
		return fmt.Errorf("%s %s: it is being started: try again", op, m.cfg.Name)
	}

	if err := m.cfg.Cgroup.freeze(ctx, frozen); err != nil {
		return fmt.Errorf("%s %s: %w", op, m.cfg.Name, err)
	}

	m.tracker.Update(func(s *machine.Status) { s.Paused = frozen })

	return nil
}

// freezer is how a hierarchy freezes the processes of a cgroup and those below it.
type freezer struct {
	file, on, off string
	// state is the file that has the state reached.
	state, reached, left string
}

// The freezers of both versions. The kernel kills a frozen process of v2 only.
var (
	freezer2 = freezer{file: "cgroup.freeze", on: "1", off: "0", state: "cgroup.events", reached: "frozen 1", left: "frozen 0"}
	freezer1 = freezer{file: "freezer.state", on: "FROZEN", off: "THAWED", state: "freezer.state", reached: "FROZEN", left: "THAWED"}
)

// freeze stops the processes of the cgroup or lets them run, and waits until they do.
func (c Cgroup) freeze(ctx context.Context, frozen bool) error {
	for _, f := range []freezer{freezer2, freezer1} {
		for _, dir := range c.dirs() {
			if _, err := os.Stat(filepath.Join(dir, f.file)); errors.Is(err, fs.ErrNotExist) {
				continue
			}

			return f.set(ctx, dir, frozen)
		}
	}

	return errors.New("this computer has no freezer for cgroups")
}

func (f freezer) set(ctx context.Context, dir string, frozen bool) error {
	value, want := f.off, f.left
	if frozen {
		value, want = f.on, f.reached
	}

	if err := os.WriteFile(filepath.Join(dir, f.file), []byte(value), 0); err != nil {
		return fmt.Errorf("freeze cgroup: %w", err)
	}

	for {
		state, err := os.ReadFile(filepath.Join(dir, f.state))
		if err != nil {
			return fmt.Errorf("freeze cgroup: %w", err)
		}

		if strings.Contains(string(state), want) {
			return nil
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("freeze cgroup %s: %s is %q: %w", dir, f.state, state, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// thaw lets frozen processes run, so that they can be killed. It does nothing without a cgroup.
func (c Cgroup) thaw() {
	for _, dir := range c.dirs() {
		for _, f := range []freezer{freezer2, freezer1} {
			_ = os.WriteFile(filepath.Join(dir, f.file), []byte(f.off), 0) // most hierarchies have no freezer
		}
	}
}

// Wipe removes the volumes.
func (m *Machine) Wipe(context.Context) error {
	m.button.Lock()
	defer m.button.Unlock()

	if m.run.Load() != nil {
		return fmt.Errorf("wipe %s: %w", m.cfg.Name, machine.ErrOn)
	}

	for _, dir := range []string{stateDir, ephemeralDir} {
		if err := RemoveFiles(filepath.Join(m.cfg.Dir, dir)); err != nil {
			return fmt.Errorf("wipe %s: %w", m.cfg.Name, err)
		}
	}

	return nil
}
