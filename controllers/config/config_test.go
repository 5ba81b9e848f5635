// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/platform"
)

// bench is a machine with a controller.
type bench struct {
	*Controller

	st     state.State
	disk   *cutDisk
	meta   *metaFake
	failed []error
}

// start starts the controller with STATE mounted.
func start(ctx context.Context, t *testing.T, files map[string]string, args string) *bench {
	t.Helper()

	b := startBare(ctx, t, files, args)
	b.mount(t)

	return b
}

// loaded creates MetaLoaded.
func (b *bench) loaded(t *testing.T) {
	t.Helper()

	b.meta.fail(nil)

	if err := typed.Set(t.Context(), b.st, "", runtime.MetaLoadedID, runtime.MetaLoadedSpec{Done: true}); err != nil {
		t.Fatal(err)
	}

	synctest.Wait()
}

// startBare starts the controller without a disk.
func startBare(ctx context.Context, t *testing.T, files map[string]string, args string) *bench {
	t.Helper()

	return startWith(ctx, t, newCutDisk(files, -1), map[meta.Tag]string{}, args)
}

// startWith starts the controller with the content of a disk, which is not mounted yet, and of META.
func startWith(ctx context.Context, t *testing.T, disk *cutDisk, values map[meta.Tag]string, args string) *bench {
	t.Helper()

	b := &bench{st: memory.New(), disk: disk, meta: &metaFake{values: values}}
	b.Controller = New(fstest.MapFS{}, cmdline.Parse(args), platform.Platform{}, nil, b.meta, func(err error) { b.failed = append(b.failed, err) })
	b.Controller.fs = b.disk
	b.cluster = noServers()

	rt := cosiruntime.New(b.st, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err := rt.RegisterController(b.Controller); err != nil {
		t.Fatal(err)
	}

	go rt.Run(ctx)

	synctest.Wait()

	return b
}

func (b *bench) mount(t *testing.T) {
	t.Helper()

	r := resource.New[block.VolumeMountStatusSpec]("", "config-STATE")
	r.TypedSpec().Target = "/system/state"

	if err := b.st.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}

	synctest.Wait()
}

// phase sets the phase of STATE.
func (b *bench) phase(t *testing.T, phase block.VolumePhase) {
	t.Helper()

	if err := typed.Set(t.Context(), b.st, "", block.VolumeState, block.VolumeStatusSpec{Phase: phase}); err != nil {
		t.Fatal(err)
	}

	synctest.Wait()
}

// text returns the text of the configuration with an id, empty when there is none.
func (b *bench) text(t *testing.T, id string) string {
	t.Helper()
	synctest.Wait()

	cfg, err := typed.Find[configres.MachineConfigSpec](t.Context(), b.st, "", id)
	if err != nil {
		t.Fatal(err)
	}

	if cfg == nil {
		return ""
	}

	return string(cfg.TypedSpec().Bytes())
}

func (b *bench) maintenance(t *testing.T) bool {
	t.Helper()
	synctest.Wait()

	r, err := typed.Find[runtime.MaintenanceServiceRequestSpec](t.Context(), b.st, "", runtime.MaintenanceServiceRequestID)
	if err != nil {
		t.Fatal(err)
	}

	return r != nil
}

// failure returns why a configuration that was found cannot be used.
func (b *bench) failure(t *testing.T) string {
	t.Helper()
	synctest.Wait()

	r, err := typed.Find[configres.ConfigFailureSpec](t.Context(), b.st, "", configres.FailureID)
	if err != nil {
		t.Fatal(err)
	}

	if r == nil {
		return ""
	}

	return r.TypedSpec().Error
}

func inBubble(t *testing.T, fn func(ctx context.Context, t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		fn(ctx, t)
		cancel()
		synctest.Wait()
	})
}

func packed(t *testing.T, text string) string {
	t.Helper()

	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}

	return base64.StdEncoding.EncodeToString(w.EncodeAll([]byte(text), nil))
}

func TestAcquire(t *testing.T) {
	good := string(configtest.ControlPlane(t))

	for _, tt := range []struct {
		name        string
		files       map[string]string
		args        string
		want        string
		maintenance bool
		failures    int
	}{
		{"nothing anywhere", nil, "", "", true, 0},
		{"on disk", map[string]string{fileName: good}, "", good, false, 0},
		{"on the command line, in two parts", nil, "talos.config.inline=" + packed(t, good)[:40] + " talos.config.inline=" + packed(t, good)[40:], good, false, 0},
		{"the disk wins", map[string]string{fileName: good}, "talos.config.early=" + packed(t, "# other\n"+good), good, false, 0},
		{"broken on disk", map[string]string{fileName: "machine: ["}, "", "", false, 1},
		{"broken on disk, good on the command line", map[string]string{fileName: "machine: ["}, "talos.config.inline=" + packed(t, good), good, false, 1},
		{"empty on disk, good on the command line", map[string]string{fileName: ""}, "talos.config.early=" + packed(t, good), good, false, 1},
		{"garbage on the command line", nil, "talos.config.early=%%% talos.config.inline=aGVsbG8=", "", true, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				b := start(ctx, t, tt.files, tt.args)

				if got := b.text(t, configres.ActiveID); got != tt.want {
					t.Errorf("active: got %q, want %q", got, tt.want)
				}

				if got := b.maintenance(t); got != tt.maintenance {
					t.Errorf("maintenance: got %v, want %v", got, tt.maintenance)
				}

				if len(b.failed) != tt.failures {
					t.Errorf("failures: got %v, want %d", b.failed, tt.failures)
				}

				if tt.want != "" && b.disk.durable[fileName] != tt.want {
					t.Errorf("the next boot finds %q", b.disk.durable[fileName])
				}
			})
		})
	}
}

// The STATE of a new machine has no file system, so it has no configuration.
func TestAcquireBeforeFormat(t *testing.T) {
	good := string(configtest.ControlPlane(t))

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := startBare(ctx, t, nil, "")

		for _, phase := range []block.VolumePhase{block.VolumePhaseWaiting, block.VolumePhaseFailed, block.VolumePhaseLocated} {
			if b.phase(t, phase); b.maintenance(t) {
				t.Fatalf("in maintenance with STATE %s, where a configuration may be", phase)
			}
		}

		if b.phase(t, block.VolumePhaseProvisioned); !b.maintenance(t) {
			t.Fatal("not in maintenance while STATE's file system is made")
		}

		var (
			done bool
			err  error
		)

		go func() {
			_, err = b.Apply(ctx, Change{Text: []byte(good), Anonymous: true})
			done = true
		}()

		for _, phase := range []block.VolumePhase{block.VolumePhaseProvisioned, block.VolumePhaseReady} {
			if b.phase(t, phase); done || b.text(t, configres.ActiveID) != "" {
				t.Fatalf("a configuration was applied with STATE %s: done %v, %v", phase, done, err)
			}
		}

		if b.mount(t); !done || err != nil || b.text(t, configres.ActiveID) != good || b.disk.durable[fileName] != good || b.maintenance(t) {
			t.Errorf("when STATE is mounted: done %v, %v, active %.60q, on disk %.60q", done, err, b.text(t, configres.ActiveID), b.disk.durable[fileName])
		}
	})
}

func TestApplyFormatFails(t *testing.T) {
	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := startBare(ctx, t, nil, "")
		b.phase(t, block.VolumePhaseProvisioned)

		var err error

		go func() { _, err = b.Apply(ctx, Change{Text: configtest.ControlPlane(t), Anonymous: true}) }()

		if b.phase(t, block.VolumePhaseFailed); !errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), "volumestatus") {
			t.Errorf("got %v, want %v and where to look", err, ErrNotReady)
		}
	})
}

func TestAcquireBesideBlankDisk(t *testing.T) {
	good := string(configtest.ControlPlane(t))

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := startBare(ctx, t, nil, "talos.config.early=%%% talos.config.inline="+packed(t, good))

		if b.phase(t, block.VolumePhaseProvisioned); b.maintenance(t) || b.text(t, configres.ActiveID) != "" {
			t.Errorf("before STATE has it: maintenance %v, active %.60q", b.maintenance(t), b.text(t, configres.ActiveID))
		}

		if b.mount(t); b.text(t, configres.ActiveID) != good || b.disk.durable[fileName] != good {
			t.Errorf("got active %.60q, on disk %.60q", b.text(t, configres.ActiveID), b.disk.durable[fileName])
		}

		if len(b.failed) != 1 {
			t.Errorf("got failures %v, want the unusable source's, once", b.failed)
		}
	})
}

func TestApply(t *testing.T) {
	before := string(configtest.ControlPlane(t))
	after := "# a comment\n" + before
	worker := string(configtest.Worker(t))

	for _, tt := range []struct {
		name                        string
		stored                      string
		change                      Change
		err                         error
		active, persistent, durable string
	}{
		{"first", "", Change{Text: []byte(before), Anonymous: true}, nil, before, before, before},
		{"now", before, Change{Text: []byte(after)}, nil, after, after, after},
		{"staged", before, Change{Text: []byte(after), Mode: Staged}, nil, before, after, after},
		{"trial", before, Change{Text: []byte(after), Mode: Try}, nil, after, before, before},
		{"dry run", before, Change{Text: []byte(after), DryRun: true}, nil, before, before, before},
		{"empty", before, Change{Text: []byte(" \n")}, ErrInvalid, before, before, before},
		{"unknown key", before, Change{Text: []byte("nonsense: 1\n" + before)}, ErrInvalid, before, before, before},
		{"another role", before, Change{Text: []byte(worker)}, ErrInvalid, before, before, before},
		{"anonymous on a configured machine", before, Change{Text: []byte(after), Anonymous: true}, ErrDenied, before, before, before},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				files := map[string]string{}
				if tt.stored != "" {
					files[fileName] = tt.stored
				}

				b := start(ctx, t, files, "")

				if _, err := b.Apply(ctx, tt.change); !errors.Is(err, tt.err) {
					t.Fatalf("got error %v, want %v", err, tt.err)
				}

				for id, want := range map[string]string{configres.ActiveID: tt.active, configres.PersistentID: tt.persistent} {
					if got := b.text(t, id); got != want {
						t.Errorf("%s: got %.60q, want %.60q", id, got, want)
					}
				}

				if got := b.disk.durable[fileName]; got != tt.durable {
					t.Errorf("on disk: got %.60q, want %.60q", got, tt.durable)
				}

				for _, id := range []string{configres.ActiveID, configres.PersistentID} {
					cfg, err := typed.Get[configres.MachineConfigSpec](ctx, b.st, "", id)
					if err != nil {
						t.Fatal(err)
					}

					if got, _ := cfg.Metadata().Annotations().Get("talos.dev/yaml-spec"); got != "1" {
						t.Errorf("%s: got annotation talos.dev/yaml-spec %q, want 1", id, got)
					}
				}

				if b.maintenance(t) {
					t.Error("the machine is still in maintenance")
				}
			})
		})
	}
}

// TestStagedIsKept: a client without a certificate cannot apply a configuration after an administrator has staged one.
func TestStagedIsKept(t *testing.T) {
	mine := string(configtest.ControlPlane(t))

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := start(ctx, t, nil, "")

		if _, err := b.Apply(ctx, Change{Text: []byte(mine), Mode: Staged}); err != nil {
			t.Fatal(err)
		}

		for _, mode := range []Mode{Now, Staged, Try} {
			if _, err := b.Apply(ctx, Change{Text: []byte("# another\n" + mine), Mode: mode, Anonymous: true}); !errors.Is(err, ErrDenied) {
				t.Errorf("mode %d: got %v, want %v", mode, err, ErrDenied)
			}
		}

		if got := b.disk.durable[fileName]; got != mine || b.text(t, configres.ActiveID) != "" {
			t.Errorf("got %.60q on disk, %.60q active", got, b.text(t, configres.ActiveID))
		}
	})
}

func TestTrialGoesBack(t *testing.T) {
	before := string(configtest.ControlPlane(t))
	after := "# a comment\n" + before

	inBubble(t, func(ctx context.Context, t *testing.T) {
		b := start(ctx, t, map[string]string{fileName: before}, "")

		applied, err := b.Apply(ctx, Change{Text: []byte(after), Mode: Try, Trial: time.Hour})
		if err != nil || !strings.Contains(applied.Details, "1h0m0s") {
			t.Fatalf("got %+v, %v", applied, err)
		}

		time.Sleep(time.Hour - time.Second)

		if got := b.text(t, configres.ActiveID); got != after {
			t.Error("the trial ended too early")
		}

		time.Sleep(2 * time.Second)

		if got := b.text(t, configres.ActiveID); got != before {
			t.Error("the trial did not end")
		}

		// After the trial of a first configuration, the machine is in maintenance again.
		fresh := start(ctx, t, nil, "")
		if _, err := fresh.Apply(ctx, Change{Text: []byte(after), Mode: Try}); err != nil {
			t.Fatal(err)
		}

		time.Sleep(DefaultTrial + time.Second)

		if !fresh.maintenance(t) || fresh.text(t, configres.ActiveID) != "" {
			t.Error("the machine is not back in maintenance")
		}
	})
}
