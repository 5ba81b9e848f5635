// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/trial"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/meta"
)

// trials returns the trials that are shown, oldest first, as "tries state: why".
func (b *bench) shown(t *testing.T) []string {
	t.Helper()
	synctest.Wait()

	all, err := typed.List[runtime.TrialSpec](t.Context(), b.st, "")
	if err != nil {
		t.Fatal(err)
	}

	var out []string

	for _, r := range all {
		s := r.TypedSpec()
		line := fmt.Sprintf("%s %s %s", s.Since, s.Tries, s.State)

		if s.Why != "" {
			line += ": " + s.Why
		}

		out = append(out, line)
	}

	slices.Sort(out)

	for i := range out {
		_, out[i], _ = strings.Cut(out[i], " ")
	}

	return out
}

// reboot returns the machine after a power cut.
func (b *bench) reboot(ctx context.Context, t *testing.T) *bench {
	t.Helper()

	next := startWith(ctx, t, newCutDisk(b.disk.durable, -1), maps.Clone(b.meta.values), "")
	next.mount(t)

	return next
}

// TestConfirm holds that a confirmed trial is stored, that it is shown, and that a machine that restarts has it.
func TestConfirm(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second := "# second\n" + first

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := start(ctx, t, map[string]string{fileName: first}, "")

		if _, err := b.Decide(ctx, Decision{}); !errors.Is(err, ErrTrial) || !strings.Contains(err.Error(), "there is no trial") {
			t.Errorf("confirmed without a trial: got %v", err)
		}

		applied, err := b.Apply(ctx, Change{Text: []byte(second), Mode: Try, Trial: time.Minute, By: "a test"})
		if err != nil {
			t.Fatal(err)
		}

		if got := b.shown(t); !slices.Equal(got, []string{"configuration running"}) {
			t.Errorf("on trial: shown are %q", got)
		}

		if b.disk.durable[candidateName] != second || b.disk.durable[fileName] != first {
			t.Error("STATE does not have both configurations while one is on trial")
		}

		if _, err := b.Decide(ctx, Decision{ID: "another"}); !errors.Is(err, ErrTrial) || !strings.Contains(err.Error(), "another is not known") {
			t.Errorf("another trial confirmed: got %v", err)
		}

		_, id, _ := strings.Cut(applied.Details, "talosctl confirm ")
		id, _, _ = strings.Cut(id, ")")

		for range 2 { // again: it is what was asked for already
			got, err := b.Decide(ctx, Decision{ID: id, By: "someone"})
			if err != nil || got.State != runtime.TrialCommitted || got.Why != "someone confirmed it" {
				t.Errorf("got %+v, %v", got, err)
			}
		}

		if _, err := b.Decide(ctx, Decision{ID: id, Revert: true}); !errors.Is(err, ErrTrial) {
			t.Errorf("reverted after the commit: got %v", err)
		}

		wait(time.Hour)

		for range 2 {
			if b.text(t, configres.ActiveID) != second || b.text(t, configres.PersistentID) != second || b.disk.durable[fileName] != second {
				t.Error("the confirmed configuration is not in effect, or not stored")
			}

			if got, want := b.shown(t), []string{"configuration committed: someone confirmed it"}; !slices.Equal(got, want) {
				t.Errorf("shown are %q, want %q", got, want)
			}

			for _, name := range []string{candidateName, beforeName} {
				if _, ok := b.disk.durable[name]; ok {
					t.Errorf("%s is left", name)
				}
			}

			b = b.reboot(ctx, t)
		}
	})
}

// TestTrialIsShown holds what users read of trials that end in each way.
func TestTrialIsShown(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second, third := "# second\n"+first, "# third\n"+first

	try := func(text string) Change { return Change{Text: []byte(text), Mode: Try, Trial: time.Minute} }

	for _, tt := range []struct {
		name   string
		do     func(ctx context.Context, b *bench) error
		want   []string
		active string
	}{
		{
			"no one confirms it", func(context.Context, *bench) error { time.Sleep(time.Minute); return nil },
			[]string{"configuration reverted: no one confirmed it within 1m0s"}, first,
		},
		{
			"refused",
			func(ctx context.Context, b *bench) error {
				_, err := b.Decide(ctx, Decision{Revert: true, By: "someone"})

				return err
			},
			[]string{"configuration reverted: someone refused it"}, first,
		},
		{
			"another one is tried",
			func(ctx context.Context, b *bench) error {
				time.Sleep(time.Second)

				_, err := b.Apply(ctx, try(third))

				return err
			},
			[]string{"configuration replaced: trial ID took its place", "configuration running"}, third,
		},
		{
			"applied for good",
			func(ctx context.Context, b *bench) error {
				_, err := b.Apply(ctx, Change{Text: []byte(second)})

				return err
			},
			[]string{"configuration committed: the configuration was applied for good (an apply)"}, second,
		},
		{
			"another one is applied for good",
			func(ctx context.Context, b *bench) error {
				_, err := b.Apply(ctx, Change{Text: []byte(third)})

				return err
			},
			[]string{"configuration reverted: another configuration was applied for good (an apply)"}, third,
		},
		{
			"the one before is applied for good",
			func(ctx context.Context, b *bench) error {
				_, err := b.Apply(ctx, Change{Text: []byte(first)})

				return err
			},
			[]string{"configuration reverted: another configuration was applied for good (an apply)"}, first,
		},
		{
			"the one before is tried",
			func(ctx context.Context, b *bench) error {
				_, err := b.Apply(ctx, try(first))

				return err
			},
			[]string{"configuration reverted: an apply applied the configuration before it, and so refused it"}, first,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				b := start(ctx, t, map[string]string{fileName: first}, "")

				if _, err := b.Apply(ctx, try(second)); err != nil {
					t.Fatal(err)
				}

				if err := tt.do(ctx, b); err != nil {
					t.Fatal(err)
				}

				synctest.Wait()

				for i, got := range b.shown(t) {
					want := strings.Replace(tt.want[min(i, len(tt.want)-1)], "ID", b.trials.record.ID, 1)
					if got != want || len(b.shown(t)) != len(tt.want) {
						t.Errorf("got %q, want %q", got, want)
					}
				}

				if got := b.text(t, configres.ActiveID); got != tt.active {
					t.Errorf("got %.20q, want %.20q", got, tt.active)
				}
			})
		})
	}
}

// TestManyTrials holds that the latest trials are shown, and no more.
func TestManyTrials(t *testing.T) {
	first := string(configtest.ControlPlane(t))

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := start(ctx, t, map[string]string{fileName: first}, "")

		for n := range 2 * shownTrials {
			if _, err := b.Apply(ctx, Change{Text: fmt.Appendf(nil, "# %d\n%s", n, first), Mode: Try}); err != nil {
				t.Fatal(err)
			}

			time.Sleep(time.Second)
		}

		wait(DefaultTrial)

		if got := b.shown(t); len(got) != shownTrials || got[shownTrials-1] != "configuration reverted: no one confirmed it within 1m0s" {
			t.Errorf("got %d trials, the last: %q", len(got), got[len(got)-1])
		}

		if b.text(t, configres.ActiveID) != first || b.disk.durable[fileName] != first {
			t.Error("the last trial does not end with what was before the first")
		}
	})
}

// TestTrialWithoutMeta holds that a trial that cannot be recorded does not begin, and changes nothing, while an apply for good works.
func TestTrialWithoutMeta(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second := "# second\n" + first

	for _, broken := range []error{metactl.ErrNotLoaded, errors.New("EIO")} {
		inBubble(t, func(ctx context.Context, t *testing.T) {
			b := startBare(ctx, t, map[string]string{fileName: first}, "")
			b.meta.fail(broken)
			b.mount(t)

			if _, err := b.Apply(ctx, Change{Text: []byte(second), Mode: Try}); !errors.Is(err, ErrNotReady) {
				t.Errorf("%v: got %v, want %v", broken, err, ErrNotReady)
			}

			if b.text(t, configres.ActiveID) != first || b.disk.durable[fileName] != first {
				t.Errorf("%v: a trial that did not begin has an effect", broken)
			}

			if _, err := b.Apply(ctx, Change{Text: []byte(second)}); err != nil || b.text(t, configres.ActiveID) != second {
				t.Errorf("%v: applied for good: %v", broken, err)
			}
		})
	}
}

// TestTrialOfLength holds the limits of how long a trial lasts.
func TestTrialOfLength(t *testing.T) {
	first := string(configtest.ControlPlane(t))

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := start(ctx, t, map[string]string{fileName: first}, "")

		for _, length := range []time.Duration{time.Millisecond, trial.MaxDeadline + time.Second} {
			if _, err := b.Apply(ctx, Change{Text: []byte("# x\n" + first), Mode: Try, Trial: length}); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: got %v, want %v", length, err, ErrInvalid)
			}
		}

		if got := b.shown(t); len(got) > 0 {
			t.Errorf("got trials %q", got)
		}
	})
}

// TestTryHealthy holds that a configuration with which the machine is healthy stays, and that one with which it is not does not.
func TestTryHealthy(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second := "# second\n" + first

	met := []trial.Condition{{Name: "apid", Met: true}, {Name: "gateway", Kind: trial.OwnBefore, Met: true}, {Name: "time", Kind: trial.OwnBefore}}
	cut := []trial.Condition{{Name: "apid", Met: true}, {Name: "gateway", Kind: trial.OwnBefore, Why: "no answer"}, {Name: "time", Kind: trial.OwnBefore}}

	for _, tt := range []struct {
		name string
		// during are the conditions from a second after the apply, and later those from two minutes after it.
		during, later []trial.Condition
		after         time.Duration
		state         trial.State
		why           string
	}{
		{"healthy", met, met, trial.Hold, trial.Committed, "all conditions held for 30s"},
		{"healthy late", cut, met, 2*time.Minute + trial.Hold, trial.Committed, "all conditions held for 30s"},
		{"cut off", cut, cut, trial.DefaultDeadline, trial.Reverted, "not healthy within 2m30s: gateway (no answer)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				b := start(ctx, t, map[string]string{fileName: first}, "")

				change := Change{Text: []byte(second), Mode: TryHealthy}
				if _, err := b.Apply(ctx, change); !errors.Is(err, ErrNotReady) {
					t.Errorf("before the health is known: got %v, want %v", err, ErrNotReady)
				}

				b.see(sight{conditions: met})
				synctest.Wait()

				if _, err := b.Apply(ctx, Change{Text: []byte(second), Mode: TryHealthy, Trial: time.Second}); !errors.Is(err, ErrInvalid) {
					t.Errorf("too short: got %v, want %v", err, ErrInvalid)
				}

				if _, err := b.Apply(ctx, change); err != nil {
					t.Fatal(err)
				}

				time.Sleep(time.Second)
				b.see(sight{conditions: tt.during})

				if tt.after > 2*time.Minute {
					time.Sleep(2*time.Minute - time.Second)
					b.see(sight{conditions: tt.later})
				}

				time.Sleep(min(tt.after, trial.Hold) - 2*time.Second)
				synctest.Wait()

				if b.trials.record.State != trial.Running || b.disk.durable[fileName] != first || b.text(t, configres.ActiveID) != second {
					t.Errorf("too early: %+v", b.trials.record)
				}

				time.Sleep(3 * time.Second)

				want := map[trial.State]string{trial.Committed: second, trial.Reverted: first}[tt.state]
				if got := b.text(t, configres.ActiveID); got != want || b.disk.durable[fileName] != want {
					t.Errorf("got %.20q active, %.20q stored, want %.20q", got, b.disk.durable[fileName], want)
				}

				if r := b.trials.record; r.State != tt.state || r.Why != tt.why || r.Pending {
					t.Errorf("got %s: %s", r.State, r.Why)
				}
			})
		})
	}
}

// TestTryHealthyFirst holds that the first configuration of a machine is not reverted by itself: the machine would be open to everyone.
func TestTryHealthyFirst(t *testing.T) {
	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := start(ctx, t, nil, "")
		b.see(sight{conditions: []trial.Condition{{Name: "apid", Met: true}}})
		synctest.Wait()

		if _, err := b.Apply(ctx, Change{Text: configtest.ControlPlane(t), Mode: TryHealthy}); !errors.Is(err, ErrNotReady) {
			t.Errorf("got %v, want %v", err, ErrNotReady)
		}
	})
}

// TestTrialAtBoot holds that a trial that begins with a boot begins with its configuration, and ends with the stored one.
func TestTrialAtBoot(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second := "# second\n" + first

	for _, late := range []bool{false, true} { // META
		inBubble(t, func(ctx context.Context, t *testing.T) {
			record, err := trial.Record{
				ID: "t1", AtBoot: true, Confirm: true, Deadline: trial.MinDeadline, State: trial.Armed, ArmedIn: "the boot before",
				Config: trial.Change{From: config.Digest([]byte(first)), To: config.Digest([]byte(second))},
			}.Encode()
			if err != nil {
				t.Fatal(err)
			}

			b := startWith(ctx, t, newCutDisk(map[string]string{fileName: first, candidateName: second}, -1), map[meta.Tag]string{meta.Trial: string(record)}, "")

			var reboots []string

			b.Reboot = func(_ context.Context, why string) { reboots = append(reboots, why) }

			if late {
				b.meta.fail(metactl.ErrNotLoaded)
			}

			b.mount(t)

			if late {
				b.loaded(t)
			}

			if b.text(t, configres.ActiveID) != second || b.text(t, configres.PersistentID) != first {
				t.Errorf("META is late %t: the trial has not begun", late)
			}

			wait(trial.MinDeadline)

			if len(reboots) > 0 || b.text(t, configres.ActiveID) != first || b.trials.record.State != trial.Reverted {
				t.Errorf("META is late %t: at the deadline: %+v, restarts %q", late, b.trials.record, reboots)
			}

			b = b.reboot(ctx, t)

			if b.text(t, configres.ActiveID) != first || b.disk.durable[fileName] != first || b.trials.record.State != trial.Reverted || b.trials.record.Pending {
				t.Errorf("META is late %t: after the trial: %+v", late, b.trials.record)
			}
		})
	}
}
