// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
)

// TestReattach: a task is waited for as long as containerd is away or hangs, and given up when it has ended, or after a minute of other
// errors.
func TestReattach(t *testing.T) {
	fails := errors.New("the database is damaged")
	down := fmt.Errorf("dial: %w", errdefs.ErrUnavailable)

	for _, c := range []struct {
		name string
		// at returns containerd's answer at some time after the connection broke.
		at   func(after time.Duration) error
		want error
		// until is when the answer is known, within two attempts.
		until time.Duration
	}{
		{"back at once", func(time.Duration) error { return nil }, nil, 0},
		{"away for an hour", answers(down, time.Hour, nil), nil, time.Hour},
		{"hangs for an hour", answers(fmt.Errorf("task: %w", context.DeadlineExceeded), time.Hour, nil), nil, time.Hour},
		{"ended while away", answers(down, time.Hour, errdefs.ErrNotFound), errGone, time.Hour},
		{"fails for half a minute", answers(fails, time.Minute/2, nil), nil, time.Minute / 2},
		{"fails", answers(fails, time.Hour, nil), fails, reattachTimeout},
		{"away, then fails", answers(down, time.Hour, fails), fails, time.Hour + reattachTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()

				again := &reattach{attach: func(context.Context) (<-chan containerd.ExitStatus, error) {
					return nil, c.at(time.Since(start))
				}}

				_, err := again.after(t.Context(), down)
				if !errors.Is(err, c.want) {
					t.Errorf("got the error %v, want %v", err, c.want)
				}

				if took := time.Since(start); took < c.until-reattachInterval || took > c.until+2*reattachInterval {
					t.Errorf("it took %s, want %s", took, c.until)
				}
			})
		})
	}
}

// answers returns one error until a time and then another.
func answers(first error, until time.Duration, then error) func(time.Duration) error {
	return func(after time.Duration) error {
		if after < until {
			return first
		}

		return then
	}
}

// TestReattachEachTime: containerd that lets the runner attach and then breaks the connection each time is asked once a second, and its
// errors count together; those of hours ago do not count.
func TestReattachEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := errors.New("the event queue is full")
		again := &reattach{attach: func(context.Context) (<-chan containerd.ExitStatus, error) { return nil, nil }}

		for round := range 2 {
			start, times := time.Now(), 0

			for {
				if _, err := again.after(t.Context(), fails); err != nil {
					break
				}

				times++
			}

			if took, want := time.Since(start), reattachTimeout; took != want {
				t.Errorf("round %d: it gave up after %s, want %s", round, took, want)
			}

			if want := int(reattachTimeout / reattachInterval); times != want {
				t.Errorf("round %d: it attached %d times, want %d", round, times, want)
			}

			time.Sleep(time.Hour)
		}
	})
}
