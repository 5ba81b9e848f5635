// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/layout"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/sys/efivar"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/nstest"
	"github.com/seed-59268b81/talos/test/replay"
)

// TestReplay records what applies, upgrades and their trials write to the disk of a machine, through the kernel's block layer and XFS. After a
// cut at any time, with any of the writes since the last flush, the machine is started from what is left: it has one whole configuration and a
// whole boot entry, and ends with those that the verdict of the trial says.
func TestReplay(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	r := newReplayed(t)
	r.record(t)

	recording := r.recorder.Recording()
	t.Logf("%d writes, flushes and discards, %d flushes, %d MiB", len(recording.Log.Entries), recording.Log.Flushes(), recording.Log.Written()>>20)

	mounter, states, verdicts := replay.NewMounter(t), 0, map[string]int{}
	begin := time.Now()

	for _, s := range r.steps {
		n := 0

		for state := range recording.States(rand.New(rand.NewPCG(14, 3)), s.from, s.to, 5) {
			// Of variables that may be the old or the new ones, each state has one: its machine writes to it.
			vars := r.varsOf(state)
			c := &cutMachine{step: s, state: state, mounter: mounter, vars: vars[n%len(vars)]}
			c.starts(t)
			verdicts[c.verdict]++

			if n++; t.Failed() {
				t.Fatalf("%s: %s; the firmware's variables are %q", s.name, state, c.vars)
			}
		}

		states += n
		t.Logf("%s: %d states", s.name, n)
	}

	t.Logf("%d states in %s, %d different file systems mounted: %v", states, time.Since(begin).Round(time.Millisecond), mounter.Mounted(), verdicts)

	for _, want := range []string{"configuration committed", "configuration reverted", "entry committed", "entry reverted", "none"} {
		if verdicts[want] == 0 {
			t.Errorf("no cut led to %q: %v", want, verdicts)
		}
	}
}

// The configurations, by what tells them apart.
func replayedTexts(t *testing.T) map[string]string {
	t.Helper()

	text := string(configtest.ControlPlane(t))

	out := map[string]string{}
	for _, name := range []string{"first", "second", "third", "fourth"} {
		out[name] = "# " + name + "\n" + strings.Repeat("# "+strings.Repeat(name+" ", 20)+"\n", 100) + text
	}

	return out
}

// record records the steps.
func (r *replayed) record(t *testing.T) {
	t.Helper()

	texts := replayedTexts(t)
	v1, v2 := []string{"v1.0.0"}, []string{"v2.0.0"}

	r.step(t, "the first configuration", []string{"", "first"}, v1, func() error {
		return store{fs: r.machine.fs}.save(decoded(t, texts["first"]))
	})

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b, _ := r.machine.power(ctx, t)

		apply := func(name string, mode Mode) func() error {
			return func() error {
				_, err := b.Apply(ctx, Change{Text: []byte(texts[name]), Mode: mode, Trial: time.Minute})

				return err
			}
		}
		decide := func(revert bool) func() error {
			return func() error {
				_, err := b.Decide(ctx, Decision{Revert: revert})

				return err
			}
		}

		r.step(t, "try", []string{"first"}, v1, apply("second", Try))
		r.step(t, "confirm", []string{"first", "second"}, v1, decide(false))
		r.step(t, "nothing", []string{"second"}, v1, func() error { return nil })
		r.step(t, "try the third", []string{"second"}, v1, apply("third", Try))
		r.step(t, "refuse", []string{"second"}, v1, decide(true))
		r.step(t, "apply", []string{"second", "third"}, v1, apply("third", Now))
		r.step(t, "try again", []string{"third"}, v1, apply("fourth", Try))
		r.step(t, "stage", []string{"third", "first"}, v1, apply("first", Staged))
		r.step(t, "confirm beside a staged one", []string{"first", "fourth"}, v1, decide(false))
	})

	fourth := []string{"fourth"}
	ids := map[string]string{"v1.0.0": loader.NewID("v1.0.0")}

	add := func(version string) func() error {
		return func() error {
			return r.machine.boot.Use(func(l loader.Loader) (err error) {
				ids[version], err = l.Add(t.Context(), loader.System{Version: version, UKI: replay.Bytes(uki(version))})

				return err
			})
		}
	}

	// A trial begins with a boot of its own, which ends when the machine wants to restart.
	try := func(from, to string, before, during, after []string) {
		inBubble(t, func(ctx context.Context, t *testing.T) {
			b, _ := r.machine.power(ctx, t)
			b.healthy(t)

			r.step(t, "add "+to, fourth, before, add(to))
			r.step(t, "arm "+to, fourth, during, func() error {
				_, err := b.TryEntry(ctx, trial.Change{From: ids[from], To: ids[to]}, "a test", 0)

				return err
			})
		})
		inBubble(t, func(ctx context.Context, t *testing.T) {
			// The firmware forgets the entry that it starts once before anything is written.
			if id, err := r.machine.starts(); err != nil || id != ids[to] {
				t.Fatalf("%s runs, want %s: %v", id, ids[to], err)
			}

			var b *entryBench

			r.step(t, "start "+to, fourth, before, func() error {
				b = r.machine.run(ctx, t)

				return nil
			})
			r.step(t, "decide about "+to, fourth, after, func() error {
				if isHealthy(to) {
					b.healthy(t)
				}

				time.Sleep(4 * time.Minute)
				synctest.Wait()

				return nil
			})
		})
	}

	try("v1.0.0", "v2.0.0", v1, []string{"v1.0.0", "v2.0.0"}, []string{"v1.0.0", "v2.0.0"})
	try("v2.0.0", "v3.0.0-sick", v2, v2, v2)
	inBubble(t, func(ctx context.Context, t *testing.T) {
		r.step(t, "start after the revert", fourth, v2, func() error {
			r.machine.power(ctx, t)

			return nil
		})
	})
}

// isHealthy reports whether the machine is healthy when an entry runs.
func isHealthy(id string) bool { return !strings.Contains(id, "sick") }

// cutMachine is the machine after a cut.
type cutMachine struct {
	step    replayedStep
	state   *replay.State
	mounter *replay.Mounter
	vars    map[string]string
	verdict string
}

// starts starts the machine until it does not restart any more, and once more.
func (c *cutMachine) starts(t *testing.T) {
	t.Helper()

	files, err := c.mounter.Files(c.state.Part(stateAt, layout.StateSize))
	if err != nil {
		t.Fatalf("STATE: %v", err)
	}

	dir := t.TempDir()
	for name, value := range c.vars {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	m := onDisk{fs: newCutDisk(files, -1), boot: &loader.Installed{
		Vars: efivar.Dir(dir),
		Open: func() (loader.Partition, int64, error) { return c.state.Part(efiAt, efiSize), efiSize, nil },
	}}

	if m.meta, err = meta.Open(c.state.Part(metaAt, layout.MetaSize)); err != nil {
		t.Fatal(err)
	}

	// The first trial wrote a record, and META has one from then on.
	if text, _ := m.meta.Get(meta.Trial); text == nil && !slices.Contains([]string{"the first configuration", "try"}, c.step.name) {
		t.Fatal("META has lost the record of the last trial")
	}

	whole(t, m.boot)

	texts := replayedTexts(t)
	active := ""

	for boots := 0; ; boots++ {
		if boots == 6 {
			t.Fatal("the machine restarts for ever")
		}

		again := false

		inBubble(t, func(ctx context.Context, t *testing.T) {
			b, id := m.power(ctx, t)
			if isHealthy(id) {
				b.healthy(t)
			}

			got := b.text(t, configres.ActiveID)

			name := ""
			for n, text := range texts {
				if text == got {
					name = n
				}
			}

			if !slices.Contains(c.step.configs, name) || got != "" && name == "" || boots > 0 && name != active {
				t.Errorf("boot %d: configuration %q is in effect, %d bytes; want one of %q (before: %q)", boots+1, name, len(got), c.step.configs, active)
			}

			active = name

			time.Sleep(4 * time.Minute)
			synctest.Wait()

			again = len(b.restarts) > 0
		})

		if t.Failed() || !again && boots > 0 {
			break
		}
	}

	c.judged(t, m, active)
}

// judged compares the record of the trial with what the machine has.
func (c *cutMachine) judged(t *testing.T, m onDisk, active string) {
	t.Helper()

	text, _ := m.meta.Get(meta.Trial)

	r, err := trial.Decode(text)
	if err != nil {
		t.Fatal(err)
	}

	var booted, byDefault string

	if err := m.boot.Use(func(l loader.Loader) error {
		var err1, err2 error

		booted, err1 = l.Booted()
		byDefault, err2 = l.Default()

		return errors.Join(err1, err2)
	}); err != nil {
		t.Fatal(err)
	}

	wanted := func(change trial.Change) string {
		if r.State == trial.Committed {
			return change.To
		}

		return change.From
	}

	switch {
	case r.ID != "" && (!r.State.Decided() || r.Pending):
		t.Errorf("the trial is %s, pending %t: %s", r.State, r.Pending, r.Why)
	case booted != byDefault || !slices.ContainsFunc(c.step.versions, func(v string) bool { return booted == loader.NewID(v) }):
		t.Errorf("%s runs, and %s is the default; want one of %v", booted, byDefault, c.step.versions)
	case r.Entry.To != "" && booted != wanted(r.Entry):
		t.Errorf("the trial of %s is %s, and %s runs", r.Entry.To, r.State, booted)
	}

	c.verdict = "none"

	if r.Entry.To != "" {
		c.verdict = "entry " + string(r.State)
	} else if r.ID != "" {
		c.verdict = "configuration " + string(r.State)
		digest := config.Digest([]byte(replayedTexts(t)[active]))

		// Later steps store configurations without a trial.
		inTrials := slices.Contains([]string{"try", "confirm", "nothing", "try the third", "refuse"}, c.step.name)
		if inTrials && (r.Config.To == digest) != (r.State == trial.Committed) {
			t.Errorf("the trial is %s, and %q is in effect", r.State, active)
		}
	}
}

// whole fails the test if the image of a boot entry is not what was written.
func whole(t *testing.T, boot *loader.Installed) {
	t.Helper()

	if err := boot.Use(func(l loader.Loader) error {
		entries, err := l.Entries()
		if err != nil {
			return err
		}

		for _, e := range entries {
			r, _, err := l.(loader.SystemdBoot).ESP.Open(loader.UKIPath(e.ID))
			if err != nil {
				return err
			}

			if b, err := io.ReadAll(r); err != nil || !bytes.Equal(b, uki(e.Version)) {
				return fmt.Errorf("%s is damaged: %w", e.ID, err)
			}
		}

		return nil
	}); err != nil {
		t.Error(err)
	}
}
