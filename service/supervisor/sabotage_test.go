// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/service/supervisor"
)

const (
	// points are the times in the life of a service when it is killed or stopped, and distance the time between them.
	points   = 20
	distance = 50 * time.Millisecond
	// mostAway is how long a service may be away, and mostEnding how long it may take to end.
	mostAway   = 10 * time.Second
	mostEnding = 5 * time.Second
)

// TestSabotage kills or stops the processes of a service at each of twenty points: before and after it is healthy, between two runs of a service
// that crashes by itself, and of a service with a child. It must run again, as one process with one child, and end when it is removed.
func TestSabotage(t *testing.T) {
	for point := range points {
		signal := []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP}[point%2]
		at := time.Duration(point) * distance

		t.Run(fmt.Sprintf("%s after %s", signal, at), func(t *testing.T) {
			t.Parallel()

			log := &memoryLog{}
			s := newSupervisor(t.Context(), log)
			healthyFrom := time.Now().Add(points * distance / 2)

			// The process has a child, and does not end by SIGTERM before it has said so.
			err := s.Apply(supervisor.Service{
				ID: "victim", RestartInterval: 100 * time.Millisecond,
				Runner: &supervisor.Process{
					Path: "/bin/sh", StopTimeout: time.Minute,
					Argv: []string{"sh", "-c", "trap 'echo ended; exit 0' TERM; sleep 1000 >/dev/null 2>&1 & echo child $! of $$; while :; do wait; done"},
				},
				Health: &supervisor.Health{InitialDelay: 10 * time.Millisecond, Period: 50 * time.Millisecond, Check: func(context.Context) error {
					if time.Now().Before(healthyFrom) {
						return fmt.Errorf("it starts")
					}

					return nil
				}},
			})
			if err != nil {
				t.Fatal(err)
			}

			time.Sleep(at)

			victim := until(t, mostAway, "it runs", func() int { return pidOf(s) })
			if err := syscall.Kill(victim, signal); err != nil {
				t.Fatal(err)
			}

			started := time.Now()
			next := until(t, mostAway, "another process runs", func() int {
				if pid := pidOf(s); pid != victim && s.WaitUp(expired(t), "victim") == nil {
					return pid
				}

				return 0
			})

			t.Logf("it runs again after %s", time.Since(started))

			if running(victim) {
				t.Errorf("the process %d is left beside %d", victim, next)
			}

			// At the end it is stopped: it must end as if it were not.
			until(t, mostAway, "its child runs", func() int {
				return 1 + slices.IndexFunc(log.read("victim"), func(line string) bool { return strings.HasSuffix(line, fmt.Sprint(" of ", next)) })
			})

			if err := syscall.Kill(next, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}

			started = time.Now()

			if err := s.Remove(t.Context(), "victim"); err != nil {
				t.Fatal(err)
			}

			if took := time.Since(started); took > mostEnding {
				t.Errorf("it ended after %s, want at most %s", took, mostEnding)
			}

			if lines := log.read("victim"); !slices.Contains(lines, "ended") {
				t.Errorf("the stopped process was killed without its end: its log is %q", lines)
			}

			for _, child := range childrenOf(log) {
				until(t, mostEnding, "child "+child+" has ended", func() int {
					var pid int
					if _, err := fmt.Sscan(child, &pid); err != nil || running(pid) {
						return 0
					}

					return 1
				})
			}
		})
	}
}

// until waits for a number that is not 0.
func until(t *testing.T, most time.Duration, what string, value func() int) int {
	t.Helper()

	for deadline := time.Now().Add(most); ; time.Sleep(5 * time.Millisecond) {
		if v := value(); v != 0 {
			return v
		}

		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, most)
		}
	}
}

// pidOf returns the process of the service while it runs, else 0.
func pidOf(s *supervisor.Supervisor) int {
	if st, _ := s.Status("victim"); st.State == supervisor.StateRunning {
		return st.PID
	}

	return 0
}

// expired returns a context that has ended.
func expired(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	return ctx
}

// childrenOf returns the children that the service has had.
func childrenOf(log *memoryLog) (children []string) {
	for _, line := range log.read("victim") {
		if child, ok := strings.CutPrefix(line, "child "); ok {
			child, _, _ = strings.Cut(child, " ")
			children = append(children, child)
		}
	}

	return children
}

// running reports whether a process exists and has not ended.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))

	return err == nil && !strings.Contains(string(stat), ") Z ")
}
