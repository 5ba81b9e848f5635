// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/lab/machine"
)

// frozen reports whether the kernel has stopped the processes of the machine.
func frozen(t *testing.T, m *Machine) bool {
	t.Helper()

	for _, dir := range m.cfg.Cgroup.dirs() {
		for _, f := range []freezer{freezer2, freezer1} {
			state, err := os.ReadFile(filepath.Join(dir, f.state))
			if err == nil && strings.Contains(string(state), f.reached) {
				return true
			}
		}
	}

	return false
}

// TestPause pauses a machine, which does not end while it is paused, resumes it, and cuts its power during a pause.
func TestPause(t *testing.T) {
	m := newMachine(t)

	if err := m.Pause(t.Context()); !errors.Is(err, machine.ErrOff) {
		t.Errorf("pause a machine that is off: got %v, want %v", err, machine.ErrOff)
	}

	must := func(err error) {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}
	}

	must(m.On(t.Context()))
	must(m.Pause(t.Context()))

	if !m.Status().Paused || !frozen(t, m) {
		t.Errorf("got %+v, frozen: %t, want a paused machine", m.Status(), frozen(t, m))
	}

	must(m.Resume(t.Context()))

	if m.Status().Paused || frozen(t, m) {
		t.Errorf("got %+v, frozen: %t, want a machine that runs", m.Status(), frozen(t, m))
	}

	must(m.Pause(t.Context()))
	must(m.Reset(t.Context()))

	if m.Status().Paused || frozen(t, m) || m.Status().Boots != 2 {
		t.Errorf("after a reset: got %+v, frozen: %t", m.Status(), frozen(t, m))
	}

	must(m.Pause(t.Context()))

	cut := make(chan struct{})

	go func() {
		defer close(cut)

		m.Cut()
	}()

	select {
	case <-cut:
	case <-time.After(30 * time.Second):
		t.Fatal("the power of a paused machine cannot be cut")
	}

	if s := m.Status(); s.Paused || s.Power != machine.Off {
		t.Errorf("after a power cut: got %+v", s)
	}
}

// TestWipe replaces the volumes of a machine that is off.
func TestWipe(t *testing.T) {
	m := newMachine(t)

	if err := m.On(t.Context()); err != nil {
		t.Fatal(err)
	}

	var files []string

	for _, dir := range []string{stateDir, ephemeralDir} {
		file := filepath.Join(m.cfg.Dir, dir, "folder", "file")
		files = append(files, file)

		if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}

	if err := m.Wipe(t.Context()); !errors.Is(err, machine.ErrOn) {
		t.Errorf("wipe a machine that is on: got %v, want %v", err, machine.ErrOn)
	}

	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}

	m.Cut()

	if err := m.Wipe(t.Context()); err != nil {
		t.Fatal(err)
	}

	for _, file := range files {
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", file, err)
		}
	}

	if err := m.On(t.Context()); err != nil {
		t.Errorf("a wiped machine does not start: %v", err)
	}
}
