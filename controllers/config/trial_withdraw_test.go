// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/meta"
)

// TestWithdrawEntry: the trial of an entry ends before its boot.
func TestWithdrawEntry(t *testing.T) {
	for keep, entries := range map[bool]string{false: "A,C", true: "A,B,C"} {
		inBubble(t, func(ctx context.Context, t *testing.T) {
			boot := &bootFake{entries: []string{"A", "B", "C"}, booted: "A", byDefault: "A"}
			b := startEntries(ctx, t, boot, newCutDisk(map[string]string{fileName: string(configtest.ControlPlane(t))}, -1), map[meta.Tag]string{})
			b.mount(t)
			b.healthy(t)

			r, err := b.TryEntry(ctx, trial.Change{From: "A", To: "B"}, "a test", 0)
			if err != nil || boot.next() != "B" {
				t.Fatalf("got %+v, %v; the next boot starts %q", r, err, boot.next())
			}

			if err := b.WithdrawEntry(ctx, "another", "why", keep); !errors.Is(err, ErrTrial) {
				t.Errorf("another trial: got %v, want %v", err, ErrTrial)
			}

			if err := b.WithdrawEntry(ctx, r.ID, "the machine stays", keep); err != nil {
				t.Error(err)
			}

			last, err := b.Trial(ctx)
			if err != nil || last.State != trial.Reverted || last.Pending || last.Why != "the machine stays" {
				t.Errorf("got %+v, %v", last, err)
			}

			if got := strings.Join(boot.entries, ","); got != entries || boot.next() != "" || boot.byDefault != "A" || len(b.restarts) > 0 {
				t.Errorf("keep %t: entries %s, the next boot starts %q, the default is %s, restarts %v; want entries %s", keep, got, boot.next(), boot.byDefault, b.restarts, entries)
			}

			if err := b.WithdrawEntry(ctx, r.ID, "again", keep); !errors.Is(err, ErrTrial) {
				t.Errorf("a second time: got %v, want %v", err, ErrTrial)
			}
		})
	}
}

// TestRefuseArmedEntry: a person ends the trial of an entry before its boot, as talosctl upgrade does for a machine that stays up.
func TestRefuseArmedEntry(t *testing.T) {
	inBubble(t, func(ctx context.Context, t *testing.T) {
		boot := &bootFake{entries: []string{"A", "B"}, booted: "A", byDefault: "A"}
		b := startEntries(ctx, t, boot, newCutDisk(map[string]string{fileName: string(configtest.ControlPlane(t))}, -1), map[meta.Tag]string{})
		b.mount(t)
		b.healthy(t)

		r, err := b.TryEntry(ctx, trial.Change{From: "A", To: "B"}, "a test", 0)
		if err != nil || boot.next() != "B" {
			t.Fatalf("got %+v, %v; the next boot starts %q", r, err, boot.next())
		}

		if _, err := b.Decide(ctx, Decision{ID: r.ID, By: "a person"}); !errors.Is(err, ErrTrial) {
			t.Errorf("confirmed before its boot: got %v, want %v", err, ErrTrial)
		}

		if got, err := b.Decide(ctx, Decision{ID: r.ID, Revert: true, By: "a person"}); err != nil || got.State != runtime.TrialReverted {
			t.Errorf("got %+v, %v", got, err)
		}

		if got := strings.Join(boot.entries, ","); got != "A" || boot.next() != "" || boot.byDefault != "A" || len(b.restarts) > 0 {
			t.Errorf("entries %s, the next boot starts %q, the default is %s, restarts %v", got, boot.next(), boot.byDefault, b.restarts)
		}
	})
}

// TestEntryWithin: who upgrades may choose how long the version is tried, on a machine whose next start takes longer than the last one.
func TestEntryWithin(t *testing.T) {
	inBubble(t, func(ctx context.Context, t *testing.T) {
		boot := &bootFake{entries: []string{"A", "B"}, booted: "A", byDefault: "A"}
		b := startEntries(ctx, t, boot, newCutDisk(map[string]string{fileName: string(configtest.ControlPlane(t))}, -1), map[meta.Tag]string{})
		b.mount(t)
		b.healthy(t)

		r, err := b.TryEntry(ctx, trial.Change{From: "A", To: "B"}, "a test", 7*time.Minute)
		if err != nil || r.Deadline != 7*time.Minute || r.Own != 0 {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}
