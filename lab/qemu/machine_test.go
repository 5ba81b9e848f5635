// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/lab/machine"
)

// newMachine returns a machine with nothing to boot: its BIOS finds no disk and halts.
func newMachine(t *testing.T, edit func(*Config)) *Machine {
	t.Helper()

	binary := hosttest.Need(t, "qemu-system-x86_64")
	cfg := Config{
		Name: "test", UUID: "8c7f9a52-3f2b-4d8e-9a55-0123456789ab", Dir: t.TempDir(), Binary: binary,
		CPUs: 1, MemoryMiB: 32, Cards: []machine.Card{{MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 0, 2}}},
	}
	if edit != nil {
		edit(&cfg)
	}

	m := New(cfg, func(_ int, c net.Conn) { go func() { _, _ = io.Copy(io.Discard, c) }() }, nil, slog.New(slog.DiscardHandler))
	t.Cleanup(m.Cut)

	return m
}

func TestPowerButton(t *testing.T) {
	m := newMachine(t, nil)

	want := func(step string, want machine.Status) {
		t.Helper()

		got := m.Status()
		for deadline := time.Now().Add(time.Minute); got.Boots < want.Boots && time.Now().Before(deadline); got = m.Status() {
			time.Sleep(10 * time.Millisecond) // QEMU's event of a reset comes after its answer
		}

		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(machine.Status{}, "PID", "Since")); d != "" {
			t.Errorf("after %s (-want +got):\n%s", step, d)
		}

		if (got.PID > 0) != (got.Power == machine.On) {
			t.Errorf("after %s: got PID %d with the power %s", step, got.PID, got.Power)
		}
	}
	must := func(err error) {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}
	}

	want("creation", machine.Status{Power: machine.Off, Why: "never switched on"})

	if err := m.Reset(t.Context()); !errors.Is(err, machine.ErrOff) {
		t.Errorf("reset while off: got %v, want %v", err, machine.ErrOff)
	}

	must(m.Off(t.Context()))
	must(m.On(t.Context()))
	want("power-on", machine.Status{Power: machine.On, Why: "switched on", Boots: 1})

	if err := m.On(t.Context()); !errors.Is(err, machine.ErrOn) {
		t.Errorf("power-on while on: got %v, want %v", err, machine.ErrOn)
	}

	must(m.Reset(t.Context()))
	want("reset", machine.Status{Power: machine.On, Why: "reset", Boots: 2})

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()

	if err := m.Off(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("power-off that the guest ignores: got %v, want %v", err, context.DeadlineExceeded)
	}

	m.Cut()
	want("power cut", machine.Status{Power: machine.Off, Why: "power cut", Boots: 2})
	must(m.On(t.Context()))
	want("second power-on", machine.Status{Power: machine.On, Why: "switched on", Boots: 3})

	for _, name := range []string{"console.log", "console.log.1", "console.log.2"} {
		if _, err := os.Stat(m.cfg.Dir + "/" + name); err != nil {
			t.Errorf("three boots: %v", err)
		}
	}
}

func TestQEMUDies(t *testing.T) {
	m := newMachine(t, nil)
	if err := m.On(t.Context()); err != nil {
		t.Fatal(err)
	}

	r := m.run.Load()

	process, err := os.FindProcess(m.Status().PID)
	if err != nil {
		t.Fatal(err)
	}

	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}

	<-r.off

	if got := m.Status(); got.Power != machine.Off || !strings.Contains(got.Why, "signal: killed") {
		t.Errorf("got %+v, want off, killed", got)
	}
}

func TestQEMURefuses(t *testing.T) {
	m := newMachine(t, func(c *Config) { c.Disks = []Disk{{Path: "/nonexistent/disk", Format: "raw"}} })

	err := m.On(t.Context())
	if err == nil || !strings.Contains(err.Error(), "/nonexistent/disk") {
		t.Errorf("got %v, want QEMU's own message about the disk", err)
	}

	if got := m.Status(); got.Power != machine.Off {
		t.Errorf("got power %s, want off", got.Power)
	}
}

func TestReadMessages(t *testing.T) {
	const said = `{"QMP": {"version": {}}}
{"return": {}}
{"timestamp": {"seconds": 1}, "event": "RESET", "data": {"guest": true, "reason": "guest-reset"}}
{"error": {"class": "CommandNotFound", "desc": "The command x has not been found"}}
`

	var got []string

	err := readMessages(strings.NewReader(said), func(m qmpMessage) {
		switch {
		case m.Event != "":
			got = append(got, m.Event+" "+m.Data.Reason)
		case m.Error != nil:
			got = append(got, m.Error.Error())
		default:
			got = append(got, string(m.Return))
		}
	})
	if err != nil {
		t.Fatal(err)
	}

	want := []string{"", "{}", "RESET guest-reset", "The command x has not been found"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("messages (-want +got):\n%s", d)
	}
}

func FuzzReadMessages(f *testing.F) {
	f.Add([]byte(`{"event":"RESET","data":{"guest":true}}` + "\n"))
	f.Add([]byte("{\"error\":{}}\nnot json\n"))

	f.Fuzz(func(t *testing.T, said []byte) {
		_ = readMessages(strings.NewReader(string(said)), func(m qmpMessage) {
			if m.Error != nil {
				_ = m.Error.Error()
			}
		})
	})
}

// TestSlowDisk limits the disks of a machine.
func TestSlowDisk(t *testing.T) {
	m := newMachine(t, func(c *Config) {
		path := t.TempDir() + "/disk"
		if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}

		c.Disks = []Disk{{Path: path, Format: "raw"}}
	})

	slow := machine.Disk{Writes: 3}

	if err := m.SetDisk(t.Context(), slow); !errors.Is(err, machine.ErrOff) {
		t.Errorf("a machine that is off: got %v, want %v", err, machine.ErrOff)
	}

	if err := m.On(t.Context()); err != nil {
		t.Fatal(err)
	}

	for _, disk := range []machine.Disk{slow, {}} {
		if err := m.SetDisk(t.Context(), disk); err != nil {
			t.Error(err)
		}
	}

	m.cfg.Disks = append(m.cfg.Disks, Disk{})

	if err := m.SetDisk(t.Context(), slow); err == nil || !strings.Contains(err.Error(), "disk1") {
		t.Errorf("a disk that QEMU does not have: got %v", err)
	}
}
