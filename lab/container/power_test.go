// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/lab/machine"
)

// TestBetweenTwoBoots uses the buttons while process 1 has ended and has not yet been started again. Cards change for
// the next boot. A reset is already under way, and must not count for the end of the next boot. After a power-off the
// machine does not boot again.
func TestBetweenTwoBoots(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}

	m := New(Config{Name: "test", Dir: t.TempDir(), Cards: []machine.Card{{}, {Unplugged: true}}, Cgroup: (&Cgroups{}).Machine("test")},
		nil, nil, slog.New(slog.DiscardHandler))

	b := &boot{process: &process{console: reader, writer: writer, ended: make(chan error, 1)}, cards: map[int]*os.File{}, over: make(chan struct{})}
	r := &run{boot: b, off: make(chan struct{})}
	m.run.Store(r)
	b.process.ended <- nil

	if e := m.watch(r, b); !e.again || e.pause == 0 {
		t.Fatalf("got %+v, want a pause", e)
	}

	if err := errors.Join(m.Plug(t.Context(), 1), m.Unplug(t.Context(), 0)); err != nil {
		t.Error(err)
	}

	if !m.cfg.Cards[0].Unplugged || m.cfg.Cards[1].Unplugged {
		t.Errorf("got cards %+v, want the first unplugged", m.cfg.Cards)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()

	if err := m.Reset(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a reset that waits for the next boot", err)
	}

	if r.reset {
		t.Error("the end of the next boot would count as a reset")
	}

	if err := m.Off(ctx); err == nil || !r.cut {
		t.Errorf("got %v, cut: %t, want a machine that does not boot again", err, r.cut)
	}
}
