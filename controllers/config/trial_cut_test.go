// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/sys/meta"
)

var errPower = errors.New("the power is off")

// TestEntryAnyCut cuts the power before each write of the trial of a boot entry, in META and in the boot loader, while a healthy and an
// unhealthy entry are tried. What the machine ends with is one entry, which runs and is the default, and the verdict says so.
func TestEntryAnyCut(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	verdicts := map[string]int{}

	for _, healthy := range []bool{true, false} {
		for cut := 0; ; cut++ {
			over := false

			inBubble(t, func(ctx context.Context, t *testing.T) {
				over = cutTrial(ctx, t, first, healthy, cut, verdicts)
			})

			if over {
				break
			}
		}
	}

	t.Log(verdicts)

	for _, verdict := range []string{"true committed", "true reverted", "false reverted"} {
		if verdicts[verdict] == 0 {
			t.Errorf("no cut led to %s: %v", verdict, verdicts)
		}
	}

	if verdicts["false committed"] > 0 {
		t.Error("an entry stays that was never healthy")
	}
}

// cutTrial tries entry B, which is healthy or not, and cuts the power before a write. It reports whether there were fewer writes.
func cutTrial(ctx context.Context, t *testing.T, first string, healthy bool, cut int, verdicts map[string]int) (over bool) {
	boot := &bootFake{entries: []string{"A", "B"}, booted: "A", byDefault: "A"}
	values := map[meta.Tag]string{}
	writes, off := 0, false

	step := func() error {
		if off = off || writes == cut; off {
			return errPower
		}

		writes++

		return nil
	}
	boot.step = step

	power := func() (*entryBench, func()) {
		ctx, cancel := context.WithCancel(ctx)

		boot.mu.Lock()
		if boot.booted = boot.byDefault; boot.once != "" {
			boot.booted, boot.once = boot.once, ""
		}
		boot.mu.Unlock()

		b := startEntries(ctx, t, boot, newCutDisk(map[string]string{fileName: first}, -1), maps.Clone(values))
		b.meta.mu.Lock()
		b.meta.step = step
		b.meta.mu.Unlock()
		b.mount(t)

		return b, func() {
			cancel()
			synctest.Wait()

			values = maps.Clone(b.meta.values)
		}
	}

	b, stop := power()
	b.healthy(t)

	_, err := b.TryEntry(ctx, trial.Change{From: "A", To: "B"}, "a test", 0)
	stop()

	if err != nil && !off {
		t.Fatal(err)
	}

	// The machine runs until it needs no restart. A cut is a restart, too.
	for restarts := 0; ; restarts++ {
		if restarts == 6 {
			t.Fatalf("cut %d: the machine restarts for ever", cut)
		}

		cutBefore := off
		off, cut = false, map[bool]int{true: -1, false: cut}[cutBefore]

		b, stop = power()

		if runs, _ := boot.Booted(); healthy || runs == "A" {
			b.healthy(t)
		}

		time.Sleep(4 * time.Minute)

		again := off || len(b.restarts) > 0

		stop()

		if !again && restarts > 0 {
			break
		}
	}

	text := values[meta.Trial]

	r, err := trial.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	if r.ID == "" { // it was cut before it was armed
		r.State = trial.Reverted
	}

	want := map[trial.State]string{trial.Committed: "B", trial.Reverted: "A"}[r.State]
	if r.Pending || boot.booted != want || boot.byDefault != want || !slices.Contains(boot.entries, want) {
		t.Errorf("cut before write %d: the trial is %s (%s, pending %t), %s runs, and %s is the default of %v", cut, r.State, r.Why, r.Pending,
			boot.booted, boot.byDefault, boot.entries)
	}

	verdicts[fmt.Sprint(healthy, " ", r.State)]++

	return cut >= 0 && writes < cut
}
