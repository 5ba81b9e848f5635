// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/cosi/memory"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/install/trial"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/runtime"
	serviceres "github.com/seed-59268b81/talos/resources/service"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/platform"
)

// bootFake is a boot loader with the entries A, B and C. It outlives its machine.
type bootFake struct {
	mu                      sync.Mutex
	entries                 []string
	booted, byDefault, once string
	err                     error
	// step is called before each write.
	step func() error
}

func (b *bootFake) Use(fn func(loader.Loader) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.err != nil {
		return b.err
	}

	return fn(b)
}

// restarts starts the machine: an entry that is to be started once, or the default one.
func (b *bootFake) restarts() {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.booted, b.once = b.byDefault, ""
}

func (b *bootFake) next() string {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.once
}

func (b *bootFake) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.err = err
}

func (b *bootFake) Entries() (out []loader.Entry, err error) {
	for _, id := range b.entries {
		out = append(out, loader.Entry{ID: id, Version: id})
	}

	return out, nil
}
func (b *bootFake) Booted() (string, error)  { return b.booted, nil }
func (b *bootFake) Default() (string, error) { return b.byDefault, nil }

func (b *bootFake) SetDefault(id string) error { return b.write(func() { b.byDefault = id }) }
func (b *bootFake) SetOnce(id string) error    { return b.write(func() { b.once = id }) }

func (b *bootFake) write(do func()) error {
	if b.step != nil {
		if err := b.step(); err != nil {
			return err
		}
	}

	do()

	return nil
}

func (b *bootFake) Add(context.Context, loader.System) (string, error) {
	return "", errors.ErrUnsupported
}

func (b *bootFake) Fits(loader.System, ...string) error { return errors.ErrUnsupported }

func (b *bootFake) Remove(id string) error {
	return b.write(func() { b.entries = slices.DeleteFunc(b.entries, func(e string) bool { return e == id }) })
}

// entryBench is a machine with boot entries.
type entryBench struct {
	*bench

	boot *bootFake
	// restarts are why the machine was to be restarted.
	restarts []string
}

// startEntries starts the machine, with what an earlier boot left.
func startEntries(ctx context.Context, t *testing.T, boot *bootFake, disk *cutDisk, values map[meta.Tag]string) *entryBench {
	t.Helper()

	b := &entryBench{bench: &bench{st: memory.New(), disk: disk, meta: &metaFake{values: values}}, boot: boot}
	b.Controller = New(fstest.MapFS{}, cmdline.Parse(""), platform.Platform{}, nil, b.meta, func(error) {})
	b.Controller.fs, b.Entries = disk, boot
	b.cluster = noServers()
	b.Reboot = func(_ context.Context, why string) { b.restarts = append(b.restarts, why) }

	rt := cosiruntime.New(b.st, slog.New(slog.DiscardHandler))
	for _, c := range Controllers(b.Controller) {
		if err := rt.RegisterController(c); err != nil {
			t.Fatal(err)
		}
	}

	go rt.Run(ctx)

	synctest.Wait()

	return b
}

// healthy reports that the machine runs, and what it waits for.
func (b *entryBench) healthy(t *testing.T, unmet ...string) {
	t.Helper()

	status := runtime.MachineStatusSpec{Stage: runtime.StageRunning, Status: runtime.MachineStatusStatus{Ready: len(unmet) == 0}}
	for _, name := range unmet {
		status.Status.UnmetConditions = append(status.Status.UnmetConditions, runtime.UnmetCondition{Name: name, Reason: "because"})
	}

	if err := errors.Join(
		typed.Set(t.Context(), b.st, "", apidService, serviceres.ServiceSpec{Running: true, Healthy: true}),
		typed.Set(t.Context(), b.st, "", runtime.MachineStatusID, status),
	); err != nil {
		t.Fatal(err)
	}

	synctest.Wait()
}

// TestEntry tries a boot entry: it stays when the machine is healthy with it, and goes in all other cases.
func TestEntry(t *testing.T) {
	first := string(configtest.ControlPlane(t))

	for _, tt := range []struct {
		name string
		// in is what happens in the boot that tries the entry; nil if it never comes to that.
		in func(t *testing.T, b *entryBench)
		// state and why are the end of the trial, restarts why the machine was to be restarted, and entries what is left.
		state         trial.State
		why, restarts string
		entries       string
	}{
		{"healthy", func(t *testing.T, b *entryBench) {
			b.healthy(t)
			time.Sleep(trial.Hold + time.Second)
		}, trial.Committed, "all conditions held for 30s", "", "A,B"},
		{"healthy later", func(t *testing.T, b *entryBench) {
			b.healthy(t, "network")
			time.Sleep(100 * time.Second)
			b.healthy(t)
			time.Sleep(trial.Hold + time.Second)
		}, trial.Committed, "all conditions held for 30s", "", "A,B"},
		{"never healthy", func(t *testing.T, b *entryBench) {
			b.healthy(t, "services")
			time.Sleep(3 * time.Minute)
		}, trial.Reverted, "not healthy within 2m30s: services (because)", "trial x is reverted: not healthy within 2m30s: services (because)", "A,C"},
		{"nothing seen", func(*testing.T, *entryBench) { time.Sleep(3 * time.Minute) },
			trial.Reverted, "not healthy within 2m30s: no conditions were seen", "trial x is reverted: not healthy within 2m30s: no conditions were seen", "A,C"},
		{"the kernel started earlier", func(t *testing.T, b *entryBench) {
			b.healthy(t, "services")
			b.BootedAt(time.Now().Add(-trial.DefaultDeadline + 2*time.Second))
			time.Sleep(time.Second)
			b.healthy(t, "network")
			time.Sleep(2 * time.Second)
		}, trial.Reverted, "not healthy within 2m30s: network (because)", "trial x is reverted: not healthy within 2m30s: network (because)", "A,C"},
		{"refused", func(t *testing.T, b *entryBench) {
			if _, err := b.Decide(t.Context(), Decision{Revert: true, By: "someone"}); !errors.Is(err, ErrTrial) {
				t.Errorf("got %v", err) // it is undone by the restart
			}
		}, trial.Reverted, "someone refused it", "trial x is reverted: someone refused it", "A,C"},
		{"a power cut", func(*testing.T, *entryBench) {}, trial.Reverted, "the machine restarted before the trial was decided", "", "A,C"},
		{"it does not start", nil, trial.Reverted, "its boot entry never started", "", "A,C"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				boot := &bootFake{entries: []string{"A", "B", "C"}, booted: "A", byDefault: "A"}
				values := map[meta.Tag]string{}
				disk := func() *cutDisk { return newCutDisk(map[string]string{fileName: first}, -1) }

				boots := func() (*entryBench, func()) {
					ctx, cancel := context.WithCancel(ctx)
					b := startEntries(ctx, t, boot, disk(), values)
					b.mount(t)

					return b, func() { cancel(); synctest.Wait() }
				}

				b, off := boots()
				b.healthy(t)

				r, err := b.TryEntry(ctx, trial.Change{From: "A", To: "B"}, "a test", 0)
				if err != nil || r.State != trial.Armed || r.Deadline != trial.DefaultDeadline || !slices.Contains(r.Before, "nodeReady") {
					t.Fatalf("got %+v, %v", r, err)
				}

				if boot.next() != "B" || len(b.restarts) > 0 {
					t.Errorf("the next boot starts %q, restarts %v", boot.once, b.restarts)
				}

				if got := values[meta.Upgrade]; got != "A" {
					t.Errorf("META has %q as the entry to go back to", got)
				}

				off()

				if tt.in != nil {
					boot.booted, boot.once = "B", ""

					b, off = boots()

					if b.text(t, configres.ActiveID) != first {
						t.Error("the configuration is not in effect")
					}

					tt.in(t, b)

					if got, want := strings.ReplaceAll(strings.Join(b.restarts, ","), r.ID, "x"), tt.restarts; got != want {
						t.Errorf("restarts: got %q, want %q", got, want)
					}

					off()
				}

				boot.restarts()

				b, off = boots()
				defer off()

				last, err := b.Trial(ctx)
				if err != nil || last.State != tt.state || last.Why != tt.why || last.Pending {
					t.Errorf("got %+v, %v; want %s: %s", last, err, tt.state, tt.why)
				}

				want := map[trial.State]string{trial.Committed: "B", trial.Reverted: "A"}[tt.state]
				if boot.byDefault != want || boot.booted != want {
					t.Errorf("%s runs, and %s is the default; want %s", boot.booted, boot.byDefault, want)
				}

				if got := strings.Join(boot.entries, ","); got != tt.entries {
					t.Errorf("entries: got %s, want %s", got, tt.entries)
				}
			})
		})
	}
}

// TestEntryCannotDecode tries a boot entry whose version does not know a document of the configuration: it goes at once. It has time when the
// version before could not use the configuration either.
func TestEntryCannotDecode(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	newer := first + "---\napiVersion: v1alpha1\nkind: NewerConfig\n"

	for name, before := range map[string]string{"the version before could": first, "the version before could not": newer} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				boot := &bootFake{entries: []string{"A", "B"}, booted: "A", byDefault: "A"}
				values := map[meta.Tag]string{}

				boots := func(stored string) (*entryBench, func()) {
					ctx, cancel := context.WithCancel(ctx)
					b := startEntries(ctx, t, boot, newCutDisk(map[string]string{fileName: stored}, -1), values)

					if stored == first {
						if err := typed.Set(ctx, b.st, "", configres.MachineTypeID, configres.MachineTypeSpec{MachineType: configres.TypeControlPlane}); err != nil {
							t.Fatal(err)
						}
					}

					b.mount(t)
					b.healthy(t)

					return b, func() { cancel(); synctest.Wait() }
				}

				b, off := boots(before)

				if _, err := b.TryEntry(ctx, trial.Change{From: "A", To: "B"}, "a test", 0); err != nil {
					t.Fatal(err)
				}

				off()

				boot.booted, boot.once = "B", ""

				b, off = boots(newer)
				defer off()

				last, err := b.Trial(ctx)
				reverted := err == nil && last.State == trial.Reverted && strings.Contains(last.Why, "NewerConfig") && len(b.restarts) == 1

				if want := before == first; reverted != want {
					t.Errorf("got %+v, %v, restarts %q; want it reverted with the kind and a restart: %t", last, err, b.restarts, want)
				}
			})
		})
	}
}

// TestEntryReplaced: another upgrade takes the place of one that waits for the next boot. A configuration does not.
func TestEntryReplaced(t *testing.T) {
	first := string(configtest.ControlPlane(t))

	inBubble(t, func(ctx context.Context, t *testing.T) {
		boot := &bootFake{entries: []string{"A", "B", "C"}, booted: "A", byDefault: "A"}
		b := startEntries(ctx, t, boot, newCutDisk(map[string]string{fileName: first}, -1), map[meta.Tag]string{})

		if _, err := b.TryEntry(ctx, trial.Change{From: "A", To: "B"}, "a test", 0); !errors.Is(err, ErrNotReady) {
			t.Errorf("before META is loaded: got %v", err)
		}

		b.mount(t)

		for _, to := range []string{"B", "C"} {
			if _, err := b.TryEntry(ctx, trial.Change{From: "A", To: to}, "a test", 0); err != nil {
				t.Fatal(err)
			}
		}

		if got, want := b.shown(t), []string{"boot entry armed", "boot entry replaced"}; !slices.Equal(mask(got), want) {
			t.Errorf("got %q, want %q", got, want)
		}

		if boot.next() != "C" {
			t.Errorf("the next boot starts %q", boot.once)
		}

		if _, err := b.Apply(ctx, Change{Text: []byte("# second\n" + first), Mode: Try, Trial: time.Minute}); !errors.Is(err, ErrNotReady) {
			t.Errorf("a configuration on trial: got %v", err)
		}
	})
}

// mask removes reasons.
func mask(lines []string) (out []string) {
	for _, l := range lines {
		l, _, _ = strings.Cut(l, ":")
		out = append(out, l)
	}

	return out
}

// TestEntriesLate: a boot waits until the boot entries can be read, but not for ever. Without STATE it decides all the same.
func TestEntriesLate(t *testing.T) {
	for _, late := range []time.Duration{10 * time.Second, time.Hour} {
		inBubble(t, func(ctx context.Context, t *testing.T) {
			r := trial.Record{ID: "x", Entry: trial.Change{From: "A", To: "B"}, AtBoot: true, Deadline: trial.DefaultDeadline, State: trial.Armed, ArmedIn: "before"}

			text, err := r.Encode()
			if err != nil {
				t.Fatal(err)
			}

			boot := &bootFake{entries: []string{"A", "B"}, booted: "B", byDefault: "A", err: errors.New("EIO")}
			b := startEntries(ctx, t, boot, newCutDisk(nil, -1), map[meta.Tag]string{meta.Trial: string(text)})
			b.loaded(t)

			time.Sleep(min(late, time.Minute))
			boot.fail(nil)
			time.Sleep(10 * time.Second)

			last, err := b.Trial(ctx)
			if err != nil {
				t.Fatal(err)
			}

			if want := map[bool]trial.State{true: trial.Running, false: trial.Reverted}[late < entriesPatience]; last.State != want {
				t.Errorf("after %s: got %s, want %s", late, last.State, want)
			}

			if boot.byDefault != "A" {
				t.Errorf("the default is %s", boot.byDefault)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	up := serviceres.ServiceSpec{Running: true, Healthy: true}

	for _, tt := range []struct {
		name       string
		apid       serviceres.ServiceSpec
		configured bool
		status     runtime.MachineStatusSpec
		want       string
	}{
		{"runs", up, true, runtime.MachineStatusSpec{Stage: runtime.StageRunning}, ""},
		{"maintenance", up, false, runtime.MachineStatusSpec{Stage: runtime.StageMaintenance}, "configuration time network services staticPods nodeReady"},
		{"just configured", up, true, runtime.MachineStatusSpec{Stage: runtime.StageMaintenance}, "time network services staticPods nodeReady"},
		{"boots", serviceres.ServiceSpec{}, true, runtime.MachineStatusSpec{Stage: runtime.StageBooting}, "apid running time network services staticPods nodeReady"},
		{"no node", up, true, runtime.MachineStatusSpec{
			Stage: runtime.StageRunning, Status: runtime.MachineStatusStatus{UnmetConditions: []runtime.UnmetCondition{{Name: "nodeReady", Reason: "x"}}},
		}, "nodeReady"},
	} {
		var unmet []string

		for _, c := range conditions(tt.apid, tt.configured, tt.status) {
			if !c.Met {
				unmet = append(unmet, c.Name)
			}
		}

		if got := strings.Join(unmet, " "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
