// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/trial"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/meta"
)

// looks has the machine see whether it is healthy.
func (b *bench) looks(healthy bool) {
	b.see(sight{conditions: []trial.Condition{{Name: "apid", Met: true}, {Name: "gateway", Kind: trial.OwnBefore, Met: healthy, Why: "no answer"}}})
	synctest.Wait()
}

// goesDown requests a restart.
func (b *bench) goesDown(t *testing.T) {
	t.Helper()

	if err := typed.Set(t.Context(), b.st, "", runtime.PowerRequestID, runtime.PowerRequestSpec{Action: runtime.PowerReboot}); err != nil {
		t.Fatal(err)
	}

	synctest.Wait()
}

// has checks what is active, what clients see as the next boot's configuration, and what a power cut would leave.
func (b *bench) has(t *testing.T, when, active, persistent, stored string) {
	t.Helper()
	synctest.Wait()

	for _, tt := range []struct{ what, got, want string }{
		{"active", b.text(t, configres.ActiveID), active}, {"persistent", b.text(t, configres.PersistentID), persistent}, {"stored", b.disk.durable[fileName], stored},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s is %.20q, want %.20q", when, tt.what, tt.got, tt.want)
		}
	}
}

// TestDefault follows configurations that are applied as clients do that know nothing of trials.
func TestDefault(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second, third, fourth := "# second\n"+first, "# third\n"+first, "# fourth\n"+first

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := start(ctx, t, map[string]string{fileName: first}, "")

		time.Sleep(time.Second) // that is how long the machine took
		b.looks(true)

		apply := func(text, want string) {
			t.Helper()

			applied, err := b.Apply(ctx, Change{Text: []byte(text), Mode: Default})
			if err != nil || !strings.HasPrefix(applied.Details, "Applied configuration without a reboot") || !strings.Contains(applied.Details, want) {
				t.Errorf("got %q, %v, want %q", applied.Details, err, want)
			}
		}

		apply(first, "") // nothing changes
		b.has(t, "unchanged", first, first, first)

		if got := b.shown(t); len(got) > 0 {
			t.Errorf("a change of nothing is on trial: %q", got)
		}

		apply(second, "goes back to the one before in 2m30s (talosctl get trials ")
		b.has(t, "on trial", second, second, first)
		apply(second, "in effect already, and on trial")

		time.Sleep(trial.Hold + time.Second)
		b.has(t, "kept", second, second, second)

		apply(third, "on trial")
		b.looks(false)
		time.Sleep(trial.DefaultDeadline + time.Second)
		b.has(t, "reverted", second, second, second)

		if r := b.trials.record; r.Why != "not healthy within 2m30s: gateway (no answer)" {
			t.Errorf("got %q", r.Why)
		}

		// Two changes in a row: the second was made from the first, and both go back together.
		b.looks(true)
		apply(third, "on trial")

		applied, err := b.Apply(ctx, Change{Text: []byte(fourth), Mode: Default, From: Version{configres.PersistentID, config.Digest([]byte(third))}})
		if err != nil {
			t.Fatalf("the second change: %+v, %v", applied, err)
		}

		b.looks(false)
		b.has(t, "two on trial", fourth, fourth, second)
		time.Sleep(trial.DefaultDeadline + time.Second)
		b.has(t, "both reverted", second, second, second)

		// One that a person has to confirm is not what the next boot begins with.
		b.looks(true)
		apply(third, "on trial")

		if _, err := b.Apply(ctx, Change{Text: []byte(fourth), Mode: Try}); err != nil {
			t.Fatal(err)
		}

		b.has(t, "waits for a person", fourth, second, second)
		time.Sleep(DefaultTrial + time.Second)
		b.has(t, "no person came", second, second, second)

		// What was in effect before ends the trial.
		apply(third, "on trial")

		if _, err := b.Apply(ctx, Change{Text: []byte(second), Mode: Default}); err != nil {
			t.Fatal(err)
		}

		b.has(t, "taken back", second, second, second)

		// A configuration for the next boot was made from the one on trial.
		apply(third, "on trial")

		if _, err := b.Apply(ctx, Change{Text: []byte(fourth), Mode: Staged}); err != nil {
			t.Fatal(err)
		}

		b.looks(false)
		time.Sleep(time.Hour)
		b.has(t, "staged", third, fourth, third)

		if r := b.trials.record; !r.Staged() || r.Config.From != config.Digest([]byte(third)) {
			t.Errorf("staged: got %+v", r)
		}
	})
}

// TestDefaultForGood holds when a configuration is stored at once, and that the answer says why.
func TestDefaultForGood(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second := "# second\n" + first

	for _, tt := range []struct {
		name  string
		files map[string]string
		with  func(t *testing.T, b *bench)
		want  string
	}{
		{"the first one", nil, func(t *testing.T, b *bench) { b.mount(t); b.looks(true) }, "Applied configuration without a reboot"},
		{"no health", map[string]string{fileName: first}, func(t *testing.T, b *bench) { b.mount(t) }, "for good: the health of the machine is not known yet"},
		{
			"META is late", map[string]string{fileName: first}, func(t *testing.T, b *bench) { b.meta.fail(metactl.ErrNotLoaded); b.mount(t); b.looks(true) },
			"for good: META is not loaded, so a trial could not be recorded",
		},
		{
			"META is broken", map[string]string{fileName: first}, func(t *testing.T, b *bench) { b.mount(t); b.looks(true); b.meta.fail(errors.New("EIO")) },
			"for good: a trial could not be recorded (it could not begin: write the record to META: EIO)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				b := startBare(ctx, t, tt.files, "")
				tt.with(t, b)

				applied, err := b.Apply(ctx, Change{Text: []byte(second), Mode: Default})
				if err != nil || !strings.HasSuffix(applied.Details, tt.want) {
					t.Errorf("got %q, %v, want %q", applied.Details, err, tt.want)
				}

				time.Sleep(time.Hour)
				b.has(t, "later", second, second, second)
			})
		})
	}
}

// TestNotInEffect holds that a configuration that cannot be put in effect is not stored either.
func TestNotInEffect(t *testing.T) {
	first := string(configtest.ControlPlane(t))

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := start(ctx, t, map[string]string{fileName: first}, "")
		b.looks(true)

		// A resource that the controller removes when it activates a configuration, and that is not its own.
		if err := b.st.Create(ctx, resource.New[configres.MachineConfigSpec]("", configres.AccessID)); err != nil {
			t.Fatal(err)
		}

		_, err := b.Apply(ctx, Change{Text: []byte("# second\n" + first), Mode: Default})
		if !errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), "the trial could not begin: it could not begin: use configuration") {
			t.Errorf("got %v", err)
		}

		if b.disk.durable[fileName] != first {
			t.Error("it is stored")
		}
	})
}

// TestDefaultGoesDown holds what an orderly restart does to a trial.
func TestDefaultGoesDown(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second := "# second\n" + first

	for _, tt := range []struct {
		name string
		// before and after are whether the machine is healthy before the restart, and after it.
		before, after bool
		soon          bool
		want          string
		why           string
	}{
		{"healthy", true, false, false, second, "all conditions hold, and the machine goes down: reboot"},
		{"healthy after the restart", false, true, false, second, "all conditions held for 30s"},
		{"at once, healthy", true, true, true, second, "all conditions held for 30s"},
		{"at once, cut off", true, false, true, first, "not healthy within 2m30s: gateway (no answer)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				b := start(ctx, t, map[string]string{fileName: first}, "")
				b.looks(true)

				if _, err := b.Apply(ctx, Change{Text: []byte(second), Mode: Default}); err != nil {
					t.Fatal(err)
				}

				b.looks(tt.before)

				if !tt.soon {
					time.Sleep(trial.Settled + time.Second)
				}

				b.goesDown(t)

				b = b.reboot(ctx, t)
				b.looks(tt.after)

				if b.text(t, configres.ActiveID) != second {
					t.Error("the restart has undone the change")
				}

				if b.trials.running() {
					b.has(t, "it goes on", second, second, first)
				}

				time.Sleep(trial.DefaultDeadline + time.Second)
				b.has(t, "in the end", tt.want, tt.want, tt.want)

				if r := b.trials.record; r.Why != tt.why || r.Pending {
					t.Errorf("got %+v, want %q", r, tt.why)
				}
			})
		})
	}
}

// TestStoredBeforeATrial holds that a trial goes on after an orderly restart when another configuration was stored for the next boot before it, and
// goes back to that one.
func TestStoredBeforeATrial(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second, third := "# second\n"+first, "# third\n"+first

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := start(ctx, t, map[string]string{fileName: first}, "")
		b.looks(true)

		for _, change := range []Change{{Text: []byte(second), Mode: StagedNow}, {Text: []byte(third), Mode: Default}} {
			if _, err := b.Apply(ctx, change); err != nil {
				t.Fatal(err)
			}
		}

		b.has(t, "on trial", third, third, second)
		b.goesDown(t)

		b = b.reboot(ctx, t)
		b.looks(false)
		b.has(t, "it goes on", third, third, second)

		time.Sleep(trial.DefaultDeadline + time.Second)
		b.has(t, "in the end", second, second, second)
	})
}

// TestDefaultAndEntries holds that a configuration and a version of the system are not tried at the same time, and that neither is lost.
func TestDefaultAndEntries(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	second, third := "# second\n"+first, "# third\n"+first

	inBubble(t, func(ctx context.Context, t *testing.T) {
		boot := &bootFake{entries: []string{"A", "B"}, booted: "A", byDefault: "A"}
		b := startEntries(ctx, t, boot, newCutDisk(map[string]string{fileName: first}, -1), map[meta.Tag]string{})
		b.mount(t)
		b.healthy(t)

		apply := func(text string) error {
			_, err := b.Apply(ctx, Change{Text: []byte(text), Mode: Default})

			return err
		}

		if err := apply(second); err != nil {
			t.Fatal(err)
		}

		b.healthy(t, "nodeReady")

		upgrade := trial.Change{From: "A", To: "B"}
		if _, err := b.TryEntry(ctx, upgrade, "a test", 0); !errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), "on trial, and waits for nodeReady (because): try again") {
			t.Errorf("an upgrade during the trial of a configuration that is not healthy: got %v", err)
		}

		if _, err := b.Apply(ctx, Change{Text: []byte(third), Mode: Try}); err != nil {
			t.Fatal(err)
		}

		if _, err := b.TryEntry(ctx, upgrade, "a test", 0); !errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), "on trial, and waits for a person to confirm it: try again") {
			t.Errorf("an upgrade while a configuration waits for a person: got %v", err)
		}

		if err := apply(second); err != nil {
			t.Fatal(err)
		}

		b.healthy(t)
		time.Sleep(trial.Settled + time.Second)

		if _, err := b.TryEntry(ctx, upgrade, "a test", 0); err != nil {
			t.Fatal(err)
		}

		b.has(t, "an upgrade", second, second, second)

		// The entry waits for the restart: nothing is tried until then.
		if err := apply(third); err != nil {
			t.Fatal(err)
		}

		b.has(t, "while the entry waits", third, third, third)

		boot.mu.Lock()
		boot.booted, boot.once = boot.once, ""
		boot.mu.Unlock()

		next := startEntries(ctx, t, boot, newCutDisk(b.disk.durable, -1), b.meta.values)
		next.mount(t)
		next.healthy(t)

		if _, err := next.Apply(ctx, Change{Text: []byte(second), Mode: Default}); !errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), "another version of the system is on trial") {
			t.Errorf("a configuration while an entry is tried: got %v", err)
		}

		next.has(t, "while the entry is tried", third, third, third)
	})
}

// TestSilentBefore holds that a gateway that is silent already does not revert a change, and one that falls silent does.
func TestSilentBefore(t *testing.T) {
	first := string(configtest.ControlPlane(t))

	for _, before := range []bool{true, false} {
		for _, mode := range []Mode{Default, Staged} {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				b := start(ctx, t, map[string]string{fileName: first}, "")
				b.gateways.answers = func(context.Context, netip.Addr, string) (bool, error) { return !before, nil }
				b.gateways.list = []gateway{{netip.MustParseAddr("192.0.2.1"), "eth0"}, {netip.MustParseAddr("192.0.2.2"), "eth0"}}
				b.looks(true)

				if _, err := b.Apply(ctx, Change{Text: []byte("# second\n" + first), Mode: mode}); err != nil {
					t.Fatal(err)
				}

				if mode == Staged {
					b = b.reboot(ctx, t)
				}

				b.looks(false)
				time.Sleep(trial.DefaultDeadline + time.Second)

				if want := map[bool]trial.State{true: trial.Committed, false: trial.Reverted}[before]; b.trials.record.State != want {
					t.Errorf("mode %d, silent before %t: the trial is %s: %s", mode, before, b.trials.record.State, b.trials.record.Why)
				}
			})
		}
	}
}
