// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/install/trial"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/sys/meta"
)

// TestTrialSurvivesCuts cuts the power before each write to STATE and META, in the course of trials that end in each way, and again in the boot
// after it. Each boot has a whole configuration, and the one that the verdict says.
func TestTrialSurvivesCuts(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second, third := "# second\n"+first, "# third\n"+first

	try := func(text string) func(context.Context, *bench) error {
		return func(ctx context.Context, b *bench) error {
			_, err := b.Apply(ctx, Change{Text: []byte(text), Mode: Try})

			return err
		}
	}
	now := func(text string) func(context.Context, *bench) error {
		return func(ctx context.Context, b *bench) error {
			_, err := b.Apply(ctx, Change{Text: []byte(text)})

			return err
		}
	}
	byDefault := func(text string) func(context.Context, *bench) error {
		return func(ctx context.Context, b *bench) error {
			_, err := b.Apply(ctx, Change{Text: []byte(text), Mode: Default})

			return err
		}
	}
	// look has the machine see for a while that it is healthy, or that it is not.
	look := func(healthy bool, long time.Duration) func(context.Context, *bench) error {
		return func(_ context.Context, b *bench) error {
			b.see(sight{conditions: []trial.Condition{{Name: "apid", Met: true}, {Name: "gateway", Kind: trial.OwnBefore, Met: healthy}}})
			time.Sleep(long)
			synctest.Wait()

			return nil
		}
	}
	stage := func(text string) func(context.Context, *bench) error {
		return func(ctx context.Context, b *bench) error {
			_, err := b.Apply(ctx, Change{Text: []byte(text), Mode: Staged})

			return err
		}
	}
	decide := func(revert bool) func(context.Context, *bench) error {
		return func(ctx context.Context, b *bench) error {
			_, err := b.Decide(ctx, Decision{Revert: revert})

			return err
		}
	}

	boots, committed := 0, 0

	for _, tt := range []struct {
		name  string
		steps []func(context.Context, *bench) error
		// may are the configurations that a boot may find, by the number of steps that succeeded.
		may [][]string
	}{
		{"confirmed", []func(context.Context, *bench) error{try(second), decide(false)}, [][]string{{first}, {first, second}, {second}}},
		{"reverted", []func(context.Context, *bench) error{try(second), decide(true)}, [][]string{{first}, {first}, {first}}},
		{"replaced, confirmed", []func(context.Context, *bench) error{try(second), try(third), decide(false)}, [][]string{{first}, {first}, {first, third}, {third}}},
		{"applied for good", []func(context.Context, *bench) error{try(second), now(second)}, [][]string{{first}, {first, second}, {second}}},
		{"another for good", []func(context.Context, *bench) error{try(second), now(third)}, [][]string{{first}, {first, third}, {third}}},
		{"staged, reverted", []func(context.Context, *bench) error{try(second), stage(third), decide(true)}, [][]string{{first}, {first, third}, {third}, {third}}},
		{"staged, confirmed", []func(context.Context, *bench) error{try(second), stage(third), decide(false)}, [][]string{{first}, {first, third}, {second, third}, {second}}},
		{
			"kept by default", []func(context.Context, *bench) error{look(true, 0), byDefault(second), look(true, time.Minute)},
			[][]string{{first}, {first}, {first}, {first, second}},
		},
		{
			"reverted by default", []func(context.Context, *bench) error{look(true, 0), byDefault(second), look(false, 5*time.Minute)},
			[][]string{{first}, {first}, {first}, {first}},
		},
		{
			"two by default", []func(context.Context, *bench) error{look(true, 0), byDefault(second), byDefault(third), look(true, time.Minute)},
			[][]string{{first}, {first}, {first}, {first}, {first, third}},
		},
	} {
		for cut := range 60 {
			done := true

			inBubble(t, func(ctx context.Context, t *testing.T) {
				b := start(ctx, t, map[string]string{fileName: first}, "")
				b.disk.left = cut
				b.meta.step = b.disk.step

				succeeded := 0

				for _, step := range tt.steps {
					if step(ctx, b) != nil {
						break
					}

					succeeded++
				}

				done = b.disk.left > 0
				may := tt.may[succeeded]

				for again := range 12 { // and cuts in the next boot
					after := startWith(ctx, t, newCutDisk(b.disk.durable, again), maps.Clone(b.meta.values), "")
					after.meta.step = after.disk.step
					after.mount(t)

					for range 2 {
						boots++

						got := after.text(t, configres.ActiveID)
						if !slices.Contains(may, got) {
							t.Fatalf("%s, cut after %d writes, then %d: %d steps succeeded, and the machine has %.20q", tt.name, cut, again, succeeded, got)
						}

						record, err := trial.Decode([]byte(after.meta.values[meta.Trial]))
						if err != nil {
							t.Fatal(err)
						}

						if record.State == trial.Committed {
							committed++

							if config.Digest([]byte(got)) != record.Config.To {
								t.Fatalf("%s, cut after %d writes, then %d: the trial is committed, and the machine has %.20q", tt.name, cut, again, got)
							}
						}

						may = []string{got} // from now on, it stays
						after = after.reboot(ctx, t)
					}

					if record := after.trials.record; !record.State.Decided() || record.Pending {
						t.Fatalf("%s, cut after %d writes, then %d: the trial is %s", tt.name, cut, again, record.State)
					}

					may = tt.may[succeeded]
				}
			})

			if t.Failed() || done && cut > 0 {
				break
			}
		}
	}

	if boots < 1000 || committed < 100 {
		t.Errorf("%d boots, %d with a committed trial: the cuts do not reach much", boots, committed)
	}
}
