// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/service/supervisor"
)

// TestBusy: a process whose health checks fail is killed after some failures if it waits, and after four times as many if it works.
func TestBusy(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"waits", "exec sleep 1000", ": 3 health checks failed"},
		{"works", "while :; do :; done", ": 12 health checks failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			var checks atomic.Int32

			s := newSupervisor(t.Context(), &memoryLog{})

			err := s.Apply(supervisor.Service{
				ID: "slow", RestartInterval: time.Hour,
				Runner: &supervisor.Process{Path: "/bin/sh", Argv: []string{"sh", "-c", c.script}},
				Health: &supervisor.Health{
					InitialDelay: time.Millisecond, Period: 100 * time.Millisecond, Failures: 3,
					Check: func(context.Context) error {
						if checks.Add(1) == 1 {
							return nil
						}

						return errors.New("no answer")
					},
				},
			})
			if err != nil {
				t.Fatal(err)
			}

			until(t, time.Minute, "it is killed", func() int {
				st, _ := s.Status("slow")
				if st.State != supervisor.StateFailed {
					return 0
				}

				if !slices.ContainsFunc(st.Events, func(e supervisor.Event) bool { return strings.Contains(e.Message, c.want) }) {
					t.Errorf("got the events %v, want one with %q", st.Events, c.want)
				}

				return 1
			})

			if err := s.Remove(t.Context(), "slow"); err != nil {
				t.Fatal(err)
			}
		})
	}
}
