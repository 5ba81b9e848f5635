// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/service/supervisor"
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

// TestStoppedProcess: a process that was stopped by a signal is restarted, unless it is continued soon.
func TestStoppedProcess(t *testing.T) {
	for _, goesOn := range []bool{true, false} {
		t.Run(fmt.Sprintf("goes on %t", goesOn), func(t *testing.T) {
			t.Parallel()

			s := newSupervisor(t.Context(), &memoryLog{})

			if err := s.Apply(supervisor.Service{
				ID: "sleep", RestartInterval: time.Millisecond, Runner: &supervisor.Process{Path: "/bin/sleep", Argv: []string{"sleep", "100"}},
			}); err != nil {
				t.Fatal(err)
			}

			if err := s.WaitUp(t.Context(), "sleep"); err != nil {
				t.Fatal(err)
			}

			before, _ := s.Status("sleep")
			if err := syscall.Kill(before.PID, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}

			start := time.Now()

			if goesOn {
				time.Sleep(1500 * time.Millisecond)

				if err := syscall.Kill(before.PID, syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
			}

			again := func() bool {
				st, _ := s.Status("sleep")

				return st.PID != 0 && st.PID != before.PID
			}

			for time.Since(start) < 6*time.Second && !again() {
				time.Sleep(10 * time.Millisecond)
			}

			if again() == goesOn {
				t.Errorf("started again: got %t, want %t", again(), !goesOn)
			}

			if err := s.Remove(t.Context(), "sleep"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestProcessLeavesNothing: the children of a process end with it, even when it crashed, unless KeepChildren is set.
func TestProcessLeavesNothing(t *testing.T) {
	for _, keep := range []bool{false, true} {
		log := &memoryLog{}
		s := newSupervisor(t.Context(), log)

		err := s.Apply(supervisor.Service{ID: "crash", RestartInterval: time.Hour, Runner: &supervisor.Process{
			Path: "/bin/sh", KeepChildren: keep,
			// The child does not inherit the output.
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

		// The kernel ends a killed process some time later. An orphan may still be a zombie.
		runs := func() bool {
			stat, err := os.ReadFile("/proc/" + lines[0] + "/stat")

			return err == nil && !strings.Contains(string(stat), ") Z ")
		}

		for !keep && runs() && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}

		if got := runs(); got != keep {
			t.Errorf("kept: %t: the child runs: %t", keep, got)
		}

		if pid, err := strconv.Atoi(lines[0]); err == nil && keep {
			syscall.Kill(pid, syscall.SIGKILL) // the test has failed then
		}
	}
}
