// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPhases checks that a phase that fails is counted and named, and that the time of each is recorded.
func TestPhases(t *testing.T) {
	var out bytes.Buffer

	r := &runner{tally: newTally(&out)}
	r.since = func() time.Duration { return 0 }

	if !r.command(t.Context(), phase{"good", "exit 0"}) {
		t.Error("a command that succeeds: got false")
	}

	if r.command(t.Context(), phase{"bad", "exit 3"}) {
		t.Error("a command that fails: got true")
	}

	if want := "  0:00  FAIL  bad: exit 3: exit status 3\n"; out.String() != want || r.failed != 1 {
		t.Errorf("got %q and %d failed, want %q and 1", out.String(), r.failed, want)
	}

	if d := cmp.Diff([]item{{"good", 0}, {"bad", 0}}, r.spent.phases, cmp.AllowUnexported(item{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestHostIs(t *testing.T) {
	for _, tt := range []struct {
		name      string
		different []string
		err       error
		want      string
		failed    int
	}{
		{"as it was", nil, nil, "  0:00  ok    the host is as it was before\n", 0},
		{"different", []string{"mounts: new: /x"}, nil, "  0:00  FAIL  the host is not as it was before:\n        mounts: new: /x\n", 1},
		{"not known", nil, errors.New("no /proc"), "  0:00  FAIL  compare the host with how it was: no /proc\n", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer

			r := newTally(&out)
			r.since = func() time.Duration { return 0 }
			r.hostIs(tt.different, tt.err)

			if out.String() != tt.want || r.failed != tt.failed {
				t.Errorf("got %q and %d failed, want %q and %d", out.String(), r.failed, tt.want, tt.failed)
			}
		})
	}
}

// TestPhaseIsInterrupted checks that the processes that a command has started are interrupted too.
func TestPhaseIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	started, ended := filepath.Join(dir, "started"), filepath.Join(dir, "ended")

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	go func() {
		defer cancel()

		for ctx.Err() == nil {
			if _, err := os.Stat(started); err == nil {
				return
			}

			time.Sleep(10 * time.Millisecond)
		}
	}()

	r := &runner{tally: newTally(io.Discard)}

	// The inner shell has a trap, and the outer one does not forward signals.
	if r.command(ctx, phase{"nested", `sh -c 'trap "echo >` + ended + `; exit 1" TERM; echo >` + started + `; while :; do sleep 0.1; done'; exit 1`}) {
		t.Error("got true, want a failed command")
	}

	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(ended); err == nil {
			return
		}

		if time.Now().After(deadline) {
			t.Fatal("the process that the command had started was not interrupted")
		}
	}
}
