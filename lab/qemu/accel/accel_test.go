// SPDX-License-Identifier: Apache-2.0

package accel

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
)

func qemu(t *testing.T) string {
	t.Helper()

	return hosttest.Need(t, "qemu-system-x86_64")
}

// TestProbeGuestRuns runs the guest under emulation, where it must reach its end. Otherwise a negative result of the
// probe would mean nothing.
func TestProbeGuestRuns(t *testing.T) {
	if got := Probe(t.Context(), qemu(t), Accel{}.Args(1)); !got.KVM {
		t.Errorf("the guest did not run under emulation: %s", got.Why)
	}
}

func TestProbeSaysNo(t *testing.T) {
	t.Run("guest hangs", func(t *testing.T) {
		start := time.Now()

		got := Probe(t.Context(), qemu(t), append(Accel{}.Args(1), "-S")) // the CPU never starts
		if got.KVM || !strings.Contains(got.Why, "did not end in 2s") {
			t.Errorf("got %+v", got)
		}

		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("the answer took %v, want at most 30s", took)
		}
	})
	t.Run("QEMU refuses", func(t *testing.T) {
		got := Probe(t.Context(), qemu(t), []string{"-accel", "nonsense"})
		if got.KVM || !strings.Contains(got.Why, "nonsense") {
			t.Errorf("got %+v, want QEMU's own message", got)
		}
	})
	t.Run("no QEMU", func(t *testing.T) {
		if got := Probe(t.Context(), "/nonexistent/qemu", nil); got.KVM || got.Why == "" {
			t.Errorf("got %+v", got)
		}
	})
}

// TestChooseIsQuick checks that the choice takes a bounded time on any computer, and that the second one is immediate.
func TestChooseIsQuick(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())

	path := qemu(t)
	start := time.Now()
	first := Choose(t.Context(), path)

	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the first answer took %v, want at most 30s", took)
	}

	start = time.Now()
	second := Choose(t.Context(), path)

	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the second answer took %v", took)
	}

	if d := cmp.Diff(first, second); d != "" {
		t.Errorf("the second answer differs (-first +second):\n%s", d)
	}

	t.Logf("%s: %s", first.Name(), first.Why)
}

func TestCacheKeepsTheAnswer(t *testing.T) {
	for _, want := range []Accel{{KVM: true, Why: "it ran"}, {Why: "it hung\nfor long"}} {
		if d := cmp.Diff(want, fromCache(toCache(want))); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

// TestProbeIsItsSource assembles probe.S again.
func TestProbeIsItsSource(t *testing.T) {
	dir := t.TempDir()

	for _, cmd := range []*exec.Cmd{
		exec.CommandContext(t.Context(), hosttest.Need(t, "as"), "--64", "-o", dir+"/probe.o", "probe.S"),
		exec.CommandContext(t.Context(), hosttest.Need(t, "ld"), "-Ttext=0xfffffe00", "--oformat=binary", "-e", "start", "-o", dir+"/probe.bin", dir+"/probe.o"),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}

	got, err := os.ReadFile(filepath.Join(dir, "probe.bin"))
	if err != nil {
		t.Fatal(err)
	}

	if !bytes.Equal(got, probe) {
		t.Error("probe.bin differs from the assembled probe.S: assemble it as its header describes")
	}
}

func TestJudge(t *testing.T) {
	alive := func() error { return nil }
	if got := judge(alive, nil, ""); got.KVM {
		t.Error("a guest that ended without its answer counts as running")
	}

	if got := judge(func() error { return context.DeadlineExceeded }, context.DeadlineExceeded, ""); got.KVM {
		t.Error("a guest that hung counts as running")
	}
}
