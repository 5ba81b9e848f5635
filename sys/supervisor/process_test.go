// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/sys/supervisor"
)

func TestProcess(t *testing.T) {
	log := &memoryLog{}
	s := newSupervisor(t.Context(), log)

	err := s.Apply(supervisor.Service{ID: "sleep", Runner: &supervisor.Process{Path: "/bin/sh", Argv: []string{"sh", "-c", "echo hello; sleep 100"}}})
	if err != nil {
		t.Fatal(err)
	}

	if err := s.WaitUp(t.Context(), "sleep"); err != nil {
		t.Fatal(err)
	}

	for deadline := time.Now().Add(10 * time.Second); len(log.read("sleep")) == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}

	if st, _ := s.Status("sleep"); st.PID == 0 {
		t.Errorf("a running process has a PID, got %+v", st)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	if err := s.Remove(ctx, "sleep"); err != nil {
		t.Fatal(err)
	}

	if got := log.read("sleep"); len(got) == 0 || got[0] != "hello" {
		t.Errorf("log: got %q", got)
	}
}

// TestProcessLeavesNothing: what a process has started ends with it, also when it crashed; unless it is kept.
func TestProcessLeavesNothing(t *testing.T) {
	for _, keep := range []bool{false, true} {
		log := &memoryLog{}
		s := newSupervisor(t.Context(), log)

		err := s.Apply(supervisor.Service{ID: "crash", RestartInterval: time.Hour, Runner: &supervisor.Process{
			Path: "/bin/sh", KeepChildren: keep,
			// The child does not hold the output open.
			Argv: []string{"sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!; exit 3"},
		}})
		if err != nil {
			t.Fatal(err)
		}

		deadline := time.Now().Add(time.Minute)
		for state(s, "crash") != supervisor.StateFailed && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}

		lines := log.read("crash")
		if len(lines) != 1 {
			t.Fatalf("got %q, want the child", lines)
		}

		// An orphan that was killed may be a zombie yet.
		stat, err := os.ReadFile("/proc/" + lines[0] + "/stat")
		if runs := err == nil && !strings.Contains(string(stat), ") Z "); runs != keep {
			t.Errorf("kept: %t: the child runs: %t (%q, %v)", keep, runs, stat, err)
		}

		if pid, err := strconv.Atoi(lines[0]); err == nil && keep {
			syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // the test has failed then
		}
	}
}
