// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/sys/meta"
)

// TestImages holds that a trial waits for the images that a change needs, while what runs goes on with its former ones.
func TestImages(t *testing.T) {
	const image = "registry.test/kubelet:v2"

	first := string(configtest.ControlPlane(t))

	for _, tt := range []struct {
		name string
		// pull is what becomes of the pull, after a time.
		pull  error
		takes time.Duration
		want  trial.State
		why   string
	}{
		{"there soon", nil, time.Minute, trial.Committed, "all conditions held for 30s"},
		{"not found", errors.New("not found"), time.Second, trial.Reverted, "not healthy within 2m30s: images (" + image + " is not there: not found)"},
		{"no answer", errors.New("timed out"), time.Hour, trial.Reverted, "not healthy within 2m30s: images (" + image + " is not there: it is being pulled)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				b := startEntries(ctx, t, &bootFake{entries: []string{"A"}, booted: "A", byDefault: "A"}, newCutDisk(map[string]string{fileName: first}, -1), map[meta.Tag]string{})
				b.mount(t)
				b.healthy(t)

				fetch := b.Fetch(func(ctx context.Context, _, _ string) error {
					select {
					case <-time.After(tt.takes):
						return tt.pull
					case <-ctx.Done():
						return ctx.Err()
					}
				})

				if _, err := b.Apply(ctx, Change{Text: []byte("# second\n" + first), Mode: Default}); err != nil {
					t.Fatal(err)
				}

				ended := make(chan struct{})

				go func() {
					defer close(ended)

					for range 3 { // the controller tries it again
						if fetch(ctx, "system", image) == nil {
							return
						}
					}
				}()

				time.Sleep(trial.DefaultDeadline + time.Second)
				synctest.Wait()

				if r := b.trials.record; r.State != tt.want || r.Why != tt.why {
					t.Errorf("the trial is %s: %s", r.State, r.Why)
				}

				// What the configuration needed that is gone does not count against the next one.
				<-ended

				if c := b.images.condition(); !c.Met && !strings.Contains(c.Why, "timed out") {
					t.Errorf("after the trial: %+v", c)
				}

				if _, err := b.Apply(ctx, Change{Text: []byte("# third\n" + first), Mode: Default}); err != nil {
					t.Fatal(err)
				}

				time.Sleep(trial.Hold + 10*time.Second)
				synctest.Wait()

				if r := b.trials.record; r.State != trial.Committed {
					t.Errorf("the next trial is %s: %s", r.State, r.Why)
				}
			})
		})
	}
}

// TestImagesOfTwoChanges holds what of the images that a change needs counts for one in its place: what is still being pulled, and no failure.
func TestImagesOfTwoChanges(t *testing.T) {
	missing := errors.New("not found")

	for _, tt := range []struct {
		name string
		// during and after are what becomes of the pull during the first trial, and during the next one. The next trial waits unless met is set.
		during, after func(i *images, p *pull)
		next          string
		met           bool
	}{
		{"it is being pulled", nil, nil, "t2", false},
		{"it is there later", nil, func(i *images, p *pull) { i.end(p, nil) }, "t2", true},
		{"it failed before", func(i *images, p *pull) { i.end(p, missing) }, nil, "t2", true},
		{"it fails later: the second change may correct its name", nil, func(i *images, p *pull) { i.end(p, missing) }, "t2", true},
		{"it fails again", nil, func(i *images, p *pull) { i.end(p, missing); i.end(i.begin(p.image), missing) }, "t2", false},
		{"the first change is reverted", nil, nil, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i := &images{}
			i.follow("t1", func() {})
			p := i.begin("registry.test/kubelet:v2")

			if tt.during != nil {
				tt.during(i, p)
			}

			i.follow(tt.next, func() {})

			if tt.after != nil {
				tt.after(i, p)
			}

			if got := i.condition(); got.Met != tt.met {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestImagesOfAPerson holds that an image that was missing during a trial that waits for a person does not count after it.
func TestImagesOfAPerson(t *testing.T) {
	first := string(configtest.ControlPlane(t))

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := startEntries(ctx, t, &bootFake{entries: []string{"A"}, booted: "A", byDefault: "A"}, newCutDisk(map[string]string{fileName: first}, -1), map[meta.Tag]string{})
		b.mount(t)
		b.healthy(t)

		if _, err := b.Apply(ctx, Change{Text: []byte("# second\n" + first), Mode: Try}); err != nil {
			t.Fatal(err)
		}

		synctest.Wait()

		fetch := b.Fetch(func(context.Context, string, string) error { return errors.New("not found") })
		if err := fetch(ctx, "system", "registry.test/kubelet:v2"); err == nil || b.images.condition().Met {
			t.Errorf("during the trial: got %v, %+v", err, b.images.condition())
		}

		time.Sleep(DefaultTrial + time.Second)
		synctest.Wait()

		if c := b.images.condition(); !c.Met {
			t.Errorf("after the trial: got %+v", c)
		}
	})
}
