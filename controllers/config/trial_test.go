// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/config/configtest"
	configres "github.com/seed-59268b81/talos/resources/config"
)

// wait waits for the end of a trial.
func wait(trial time.Duration) {
	time.Sleep(trial + time.Second)
	synctest.Wait() // the race detector does not take time for an order
}

// TestTrialsAndStaged holds which configuration has effect, and which the next boot finds, when one is on trial and another is staged.
func TestTrialsAndStaged(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second, third := "# second\n"+first, "# third\n"+first

	try := func(text string) Change { return Change{Text: []byte(text), Mode: Try, Trial: time.Minute} }
	stage := func(text string) Change { return Change{Text: []byte(text), Mode: Staged} }
	now := func(text string) Change { return Change{Text: []byte(text)} }

	for _, tt := range []struct {
		name    string
		changes []Change
		// during and after the trial, and on disk.
		during, after, stored string
	}{
		{"a trial", []Change{try(second)}, second, first, first},
		{"staged, then a trial", []Change{stage(second), try(third)}, third, first, second},
		{"a trial, then staged", []Change{try(second), stage(third)}, second, first, third},
		{"a trial, then another", []Change{try(second), try(third)}, third, first, first},
		{"a trial, then for good", []Change{try(second), now(second)}, second, second, second},
		{"a trial, then another for good", []Change{try(second), now(third)}, third, third, third},
		{"a trial, then what was before it", []Change{try(second), try(first)}, first, first, first},
		{"a trial of what has effect", []Change{try(first)}, first, first, first},
		{"staged, then a trial of the same", []Change{stage(second), try(second)}, second, first, second},
		{"a trial, then the same staged", []Change{try(second), stage(second)}, second, first, second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				b := start(ctx, t, map[string]string{fileName: first}, "")
				b.looks(true)

				for _, change := range tt.changes {
					if _, err := b.Apply(ctx, change); err != nil {
						t.Fatal(err)
					}
				}

				if got := b.text(t, configres.ActiveID); got != tt.during {
					t.Errorf("during the trial: got %.20q, want %.20q", got, tt.during)
				}

				wait(time.Minute)

				if got := b.text(t, configres.ActiveID); got != tt.after {
					t.Errorf("after the trial: got %.20q, want %.20q", got, tt.after)
				}

				if got := b.disk.durable[fileName]; got != tt.stored {
					t.Errorf("stored: got %.20q, want %.20q", got, tt.stored)
				}
			})
		})
	}
}

// TestRevertAfterCommit holds that a trial can be reverted after another one was committed, in the same boot and in the next.
func TestRevertAfterCommit(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second, third := "# second\n"+first, "# third\n"+first

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := start(ctx, t, map[string]string{fileName: first}, "")

		try := func(text string, revert bool) {
			t.Helper()

			if _, err := b.Apply(ctx, Change{Text: []byte(text), Mode: Try}); err != nil {
				t.Fatal(err)
			}

			if _, err := b.Decide(ctx, Decision{Revert: revert}); err != nil {
				t.Fatal(err)
			}
		}

		try(second, false)

		for _, when := range []string{"in the same boot", "in the next boot"} {
			try(third, true)

			if got, stored := b.text(t, configres.ActiveID), b.disk.durable[fileName]; got != second || stored != second {
				t.Errorf("%s: got %.20q active, %.20q stored", when, got, stored)
			}

			b = b.reboot(ctx, t)
		}
	})
}

// TestStagedIsTheAdministrators holds that a client without a certificate cannot replace a staged configuration.
func TestStagedIsTheAdministrators(t *testing.T) {
	good := configtest.ControlPlane(t)

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := start(ctx, t, nil, "")

		if _, err := b.Apply(ctx, Change{Text: good, Mode: Staged, Anonymous: true}); err != nil {
			t.Fatal(err)
		}

		if _, err := b.Apply(ctx, Change{Text: configtest.Worker(t), Anonymous: true}); !errors.Is(err, ErrDenied) {
			t.Errorf("got %v, want %v", err, ErrDenied)
		}
	})
}
