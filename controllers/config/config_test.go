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
)

// bench is a machine with a controller and, as soon as mount is called, a STATE partition.
type bench struct {
	*Controller

	st     state.State
	disk   *cutDisk
	failed []error
}

func start(ctx context.Context, t *testing.T, files map[string]string, args string) *bench {
	t.Helper()

	b := &bench{st: memory.New(), disk: newCutDisk(files, -1)}
	b.Controller = New(fstest.MapFS{}, cmdline.Parse(args), func(err error) { b.failed = append(b.failed, err) })
	b.Controller.fs = b.disk

	rt := cosiruntime.New(b.st, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err := rt.RegisterController(b.Controller); err != nil {
		t.Fatal(err)
	}

	go rt.Run(ctx) //nolint:errcheck

	r := resource.New[block.VolumeMountStatusSpec]("", "config-STATE")
	r.TypedSpec().Target = "/system/state"

	if err := b.st.Create(ctx, r); err != nil {
		t.Fatal(err)
	}

	synctest.Wait()

	return b
}

// text of the configuration with an id, empty when there is none.
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
		{"broken on disk", map[string]string{fileName: "machine: ["}, "", "", true, 1},
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

				if b.maintenance(t) {
					t.Error("the machine is still in maintenance")
				}
			})
		})
	}
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

		// A first configuration on trial leads back to maintenance.
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
