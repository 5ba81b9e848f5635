// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/lab/machine"
)

// newMachine returns a machine with two network cards, one of them unplugged, whose process 1 only waits for a lease.
func newMachine(t *testing.T) *Machine {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	root := t.TempDir()
	for _, dir := range []string{"sbin", "dev", "proc", "sys", "run", "system", "tmp", "var"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(root, "sbin/init"), "../testdata/guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")

	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the guest: %v\n%s", err, out)
	}

	cgroups, err := NewCgroups(fmt.Sprintf("test-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := RemoveCgroups(cgroups.Dirs()...); err != nil {
			t.Error(err)
		}
	})

	if err := cgroups.Create(); err != nil {
		t.Fatal(err)
	}

	cfg := Config{
		Name: "test", Dir: t.TempDir(), Root: root, Cgroup: cgroups.Machine("test"), Limits: Limits{MemoryMiB: 128, CPUs: 1},
		Cards: []machine.Card{{MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 0, 2}}, {MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 0, 3}, Unplugged: true}},
	}

	m := New(cfg, func(_ int, card io.ReadWriteCloser) { go func() { _, _ = io.Copy(io.Discard, card) }() }, nil, slog.New(slog.DiscardHandler))
	t.Cleanup(m.Cut)

	return m
}

func TestCardsComeAndGo(t *testing.T) {
	m := newMachine(t)
	must := func(err error) {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}
	}
	// want checks that the machine has eth0, and whether it has eth1.
	want := func(step string, second bool) {
		t.Helper()

		var text []byte

		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			var err error

			text, err = os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", m.Status().PID))
			must(err)

			if strings.Contains(string(text), "eth0:") && strings.Contains(string(text), "eth1:") == second {
				return
			}
		}

		t.Errorf("after %s: want eth0, and eth1: %v; got\n%s", step, second, text)
	}

	must(m.On(t.Context()))
	want("power-on", false)

	if err := m.Unplug(t.Context(), 1); !errors.Is(err, machine.ErrUnplugged) {
		t.Errorf("unplug a card that is not plugged in: got %v, want %v", err, machine.ErrUnplugged)
	}

	for range spareTaps {
		must(m.Plug(t.Context(), 1))
		want("plugging in", true)
		must(m.Unplug(t.Context(), 1))
		want("unplugging", false)
	}

	// The unplugged card has a descriptor of its own, so there is one more.
	must(m.Plug(t.Context(), 1))

	if err := m.Plug(t.Context(), 1); !errors.Is(err, machine.ErrPlugged) {
		t.Errorf("plug in a card that is plugged in: got %v, want %v", err, machine.ErrPlugged)
	}

	must(m.Unplug(t.Context(), 1))

	if err := m.Plug(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "which is the limit") {
		t.Errorf("plug in once too often: got %v", err)
	}

	must(m.Reset(t.Context()))
	must(m.Plug(t.Context(), 1))
	want("a reset", true)

	if err := m.Plug(t.Context(), 2); err == nil || !strings.Contains(err.Error(), "2 cards") {
		t.Errorf("a card that does not exist: got %v", err)
	}
}

func TestLimits(t *testing.T) {
	m := newMachine(t)
	if err := m.On(t.Context()); err != nil {
		t.Fatal(err)
	}

	want := map[string]string{
		"memory.max": "134217728", "memory.limit_in_bytes": "134217728", "cpu.max": "100000 100000", "cpu.cfs_quota_us": "100000",
	}
	found := 0

	for _, dir := range m.cfg.Cgroup.dirs() {
		processes, err := pids(dir)
		if err != nil || len(processes) == 0 || processes[0] != m.Status().PID {
			t.Errorf("%s: got processes %v, %v, want %d", dir, processes, err, m.Status().PID)
		}

		for file, want := range want {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				continue
			}

			found++

			if got := strings.TrimSpace(string(text)); got != want {
				t.Errorf("%s of %s: got %s, want %s", file, dir, got, want)
			}
		}
	}

	if found != 2 {
		t.Errorf("%d limits are set, want one of memory and one of processors", found)
	}

	m.Cut()

	for _, dir := range m.cfg.Cgroup.dirs() {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("cgroup %s is left: %v", dir, err)
		}
	}
}
