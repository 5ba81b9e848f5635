// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/install/trial"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/meta"
)

// TestStaged follows configurations for the next boot, which tries them.
func TestStaged(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second, third := "# second\n"+first, "# third\n"+first

	stage := func(text string) Change { return Change{Text: []byte(text), Mode: Staged} }
	for _, tt := range []struct {
		name    string
		changes []Change
		// persistent and stored are what clients and a power cut find after the changes, runs is what the next boot begins with, and ends what it
		// ends with.
		persistent, stored, runs, ends string
		healthy                        bool
		why                            string
	}{
		{"healthy", []Change{stage(second)}, second, first, second, second, true, "all conditions held for 30s"},
		{"cut off", []Change{stage(second)}, second, first, second, first, false, "not healthy within 2m30s: gateway (no answer)"},
		{
			"with another time", []Change{{Text: []byte(second), Mode: Staged, Trial: 4 * time.Minute}}, second, first, second, first, false,
			"not healthy within 4m0s: gateway (no answer)",
		},
		{"twice", []Change{stage(second), stage(third)}, third, first, third, first, false, "not healthy within 2m30s: gateway (no answer)"},
		{"the present one again", []Change{stage(second), stage(first)}, first, first, first, first, false, "an apply stored one for the next boot for good"},
		{"for good", []Change{{Text: []byte(second), Mode: StagedNow}}, second, second, second, second, false, ""},
		{"another for good", []Change{stage(second), {Text: []byte(third), Mode: StagedNow}}, third, third, third, third, false, "an apply stored one for the next boot for good"},
		{"the same for good", []Change{stage(second), {Text: []byte(second), Mode: StagedNow}}, second, second, second, second, false, "an apply stored one for the next boot for good"},
		{
			"then another now", []Change{stage(second), {Text: []byte(third), Mode: Now}}, third, third, third, third, false,
			"another configuration was applied for good (an apply)",
		},
		{
			"then the present one now", []Change{stage(second), {Text: []byte(first), Mode: Default}}, first, first, first, first, false,
			"another configuration was applied for good (an apply)",
		},
		{"then one that a person has to confirm", []Change{stage(second), {Text: []byte(third), Mode: Try}}, second, second, second, second, false, "restarted"},
		{
			"then one by default, and a power cut", []Change{stage(second), {Text: []byte(third), Mode: Default}}, third, first, first, first, false,
			"the machine restarted before the trial was decided",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				b := start(ctx, t, map[string]string{fileName: first}, "")
				b.looks(true)

				for _, change := range tt.changes {
					applied, err := b.Apply(ctx, change)
					if err != nil {
						t.Fatal(err)
					}

					if staged := change.Mode == Staged || change.Mode == StagedNow; staged != strings.HasPrefix(applied.Details, stagedDetails) {
						t.Errorf("got %q", applied.Details)
					}
				}

				synctest.Wait()

				if got, stored := b.text(t, configres.PersistentID), b.disk.durable[fileName]; got != tt.persistent || stored != tt.stored {
					t.Errorf("before the restart: persistent is %.20q, stored %.20q", got, stored)
				}

				b = b.reboot(ctx, t)
				b.looks(tt.healthy)

				if got := b.text(t, configres.ActiveID); got != tt.runs {
					t.Errorf("after the restart: got %.20q", got)
				}

				time.Sleep(5 * time.Minute)
				b.has(t, "in the end", tt.ends, tt.ends, tt.ends)

				if r := b.trials.record; !strings.Contains(r.Why, tt.why) || !r.State.Decided() || r.Pending {
					t.Errorf("got %+v, want %q", r, tt.why)
				}

				for _, name := range []string{candidateName, nextName, beforeName} {
					if _, ok := b.disk.durable[name]; ok {
						t.Errorf("%s stays", name)
					}
				}
			})
		})
	}
}

// TestStagedAnswers holds what else is answered to a configuration for the next boot.
func TestStagedAnswers(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second, third := "# second\n"+first, "# third\n"+first

	inBubble(t, func(ctx context.Context, t *testing.T) {
		boot := &bootFake{entries: []string{"A", "B"}, booted: "A", byDefault: "A"}
		b := startEntries(ctx, t, boot, newCutDisk(map[string]string{fileName: first}, -1), map[meta.Tag]string{})
		b.mount(t)
		b.healthy(t)

		if _, err := b.Apply(ctx, Change{Text: []byte(third), Mode: Default}); err != nil {
			t.Fatal(err)
		}

		if _, err := b.Apply(ctx, Change{Text: []byte(second), Mode: Staged, Trial: time.Second}); !errors.Is(err, ErrInvalid) {
			t.Errorf("a short time: got %v", err)
		}

		b.has(t, "a short time: what is on trial stays so", third, third, first)

		if _, err := b.Decide(ctx, Decision{Revert: true}); err != nil {
			t.Fatal(err)
		}

		if applied, err := b.Apply(ctx, Change{Text: []byte(second), Mode: Staged}); err != nil || !strings.Contains(applied.Details, "in 2m30s (talosctl get trials "+b.trials.record.ID) {
			t.Errorf("got %+v, %v", applied, err)
		}

		if _, err := b.Decide(ctx, Decision{}); !errors.Is(err, ErrTrial) || !strings.Contains(err.Error(), "begins with the next boot") {
			t.Errorf("confirmed before the boot: got %v", err)
		}

		if got, err := b.Decide(ctx, Decision{Revert: true}); err != nil || got.State != runtime.TrialReverted {
			t.Errorf("refused before the boot: got %+v, %v", got, err)
		}

		b.has(t, "refused", first, first, first)

		if _, err := b.Apply(ctx, Change{Text: []byte(second), Mode: Staged}); err != nil {
			t.Fatal(err)
		}

		// A version of the system is tried with it, and does not take it away when it goes.
		if _, err := b.TryEntry(ctx, trial.Change{From: "A", To: "B"}, "a test", 0); err != nil {
			t.Fatal(err)
		}

		b.has(t, "an upgrade", first, second, second)

		applied, err := b.Apply(ctx, Change{Text: []byte(third), Mode: Staged})
		if err != nil || !strings.HasSuffix(applied.Details, "for good: another version of the system is tried, and one change is tried at a time") {
			t.Errorf("while a version waits: got %+v, %v", applied, err)
		}

		b.has(t, "while a version waits", first, third, third)
	})
}

// TestStagedSurvivesCuts cuts the power before each write while configurations are staged, and again in the boot that tries them.
func TestStagedSurvivesCuts(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second, third := "# second\n"+first, "# third\n"+first
	reached := map[string]int{}

	for _, tt := range []struct {
		name    string
		changes []Change
		// may are the configurations that a boot may begin with, by the number of changes that succeeded.
		may [][]string
	}{
		{"one", []Change{{Text: []byte(second), Mode: Staged}}, [][]string{{first, second}, {second}}},
		{"two", []Change{{Text: []byte(second), Mode: Staged}, {Text: []byte(third), Mode: Staged}}, [][]string{{first, second}, {second, third}, {third}}},
		{
			"then for good", []Change{{Text: []byte(second), Mode: Staged}, {Text: []byte(third), Mode: StagedNow}},
			[][]string{{first, second}, {second, third}, {third}},
		},
		{
			"then a person's", []Change{{Text: []byte(second), Mode: Staged}, {Text: []byte(third), Mode: Try}},
			[][]string{{first, second}, {second}, {second}},
		},
		{
			"after one by default", []Change{{Text: []byte(second), Mode: Default}, {Text: []byte(third), Mode: Staged}},
			[][]string{{first}, {first, second, third}, {third}},
		},
	} {
		for cut := 0; ; cut++ {
			done := true

			inBubble(t, func(ctx context.Context, t *testing.T) {
				b := start(ctx, t, map[string]string{fileName: first}, "")
				b.looks(true)
				b.disk.left, b.meta.step = cut, b.disk.step

				succeeded := 0

				for _, change := range tt.changes {
					if _, err := b.Apply(ctx, change); err != nil {
						break
					}

					succeeded++
				}

				done = b.disk.left > 0
				values, durable := maps.Clone(b.meta.values), maps.Clone(b.disk.durable)

				for again := range 16 { // and cuts in the boot that tries it
					after := startWith(ctx, t, newCutDisk(durable, again), maps.Clone(values), "")
					after.meta.step = after.disk.step
					after.mount(t)

					got := after.text(t, configres.ActiveID)
					may := []string{got}

					if strings.Contains(after.trials.record.Why, "it could not begin") { // the record cannot be written: the next boot may try it
						may = append(may, tt.may[succeeded]...)
					} else if !slices.Contains(tt.may[succeeded], got) {
						t.Fatalf("%s, cut after %d writes, then %d: %d changes succeeded, and the machine has %.20q", tt.name, cut, again, succeeded, got)
					}

					after.looks(true)
					time.Sleep(trial.Hold + time.Second)

					if after.trials.running() { // the cut reverts it
						may = append(may, after.disk.durable[fileName])
					}

					after = after.reboot(ctx, t)
					after.looks(true)

					if now := after.text(t, configres.ActiveID); !slices.Contains(may, now) {
						t.Fatalf("%s, cut after %d writes, then %d: the machine had %.20q, then %.20q", tt.name, cut, again, got, now)
					}

					time.Sleep(trial.DefaultDeadline)

					now := after.text(t, configres.ActiveID)
					after.has(t, "in the end", now, now, now)

					if r := after.trials.record; !r.State.Decided() || r.Pending {
						t.Fatalf("%s, cut after %d writes, then %d: the trial is %s", tt.name, cut, again, r.State)
					}

					reached[string(after.trials.record.State)]++
				}
			})

			if t.Failed() || done {
				break
			}
		}
	}

	if reached["committed"] < 100 || reached["reverted"] < 10 {
		t.Errorf("the cuts do not reach much: %v", reached)
	}
}
