// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/sys/platform"
)

func TestRenderConfigInPlace(t *testing.T) {
	type settings struct {
		Restrict bool   `toml:"restrict_oom_score_adj"`
		AppArmor bool   `toml:"disable_apparmor"`
		Layers   string `toml:"snapshotter"`
	}

	for _, tt := range []struct {
		name            string
		at              place
		runtime, images settings
	}{
		{"a machine with its own kernel", metal, settings{}, settings{}},
		{"a privileged container", place{snapshotter: container.Overlayfs}, settings{AppArmor: true}, settings{}},
		{"no lower scores", place{snapshotter: container.Overlayfs, keepOOMScores: true}, settings{AppArmor: true, Restrict: true}, settings{}},
		{"no overlays", place{snapshotter: container.Native}, settings{AppArmor: true}, settings{Layers: "native"}},
		{"layers are mounted", place{snapshotter: container.Erofs, ownKernel: true}, settings{}, settings{Layers: "erofs"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := renderConfig(tt.at, chosen{})
			if err != nil {
				t.Fatal(err)
			}

			var got struct {
				Plugins struct {
					Runtime settings `toml:"io.containerd.cri.v1.runtime"`
					Images  settings `toml:"io.containerd.cri.v1.images"`
				} `toml:"plugins"`
			}

			if err := toml.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}

			if d := cmp.Diff([]settings{tt.runtime, tt.images}, []settings{got.Plugins.Runtime, got.Plugins.Images}); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// The call in the health check is made after containerd answers, until it succeeds once.
func TestOnceHealthy(t *testing.T) {
	down, refused := errors.New("down"), errors.New("refused")

	var answers, does error

	done := 0
	check := onceHealthy(func(context.Context) error { return answers }, func(context.Context) error {
		done++

		return does
	})

	for _, tt := range []struct {
		answers, does, want error
		done                int
	}{{down, nil, down, 0}, {nil, refused, refused, 1}, {nil, nil, nil, 2}, {nil, nil, nil, 2}, {down, nil, down, 2}} {
		answers, does = tt.answers, tt.does

		if err := check(t.Context()); !errors.Is(err, tt.want) || done != tt.done {
			t.Errorf("%+v: got %v, done %d times", tt, err, done)
		}
	}
}

// TestSnapshotterIsKept covers what containerd may have left on EPHEMERAL. A plugin without a folder was never used: unused plugins are
// disabled.
func TestSnapshotterIsKept(t *testing.T) {
	const overlayfs = "io.containerd.snapshotter.v1.overlayfs"

	for _, tt := range []struct {
		name    string
		folders []string
		layers  bool
		want    string
	}{
		{"first boot", nil, true, container.Erofs},
		{"first boot without an image cache", nil, false, container.Overlayfs},
		{"power cut before containerd stored anything", []string{"io.containerd.content.v1.content"}, true, container.Erofs},
		{"later boot", []string{"io.containerd.metadata.v1.bolt", overlayfs, erofsPlugin}, true, container.Erofs},
		{"later boot without the image cache", []string{"io.containerd.metadata.v1.bolt", overlayfs, erofsPlugin}, false, container.Erofs},
		{"of an earlier version", []string{"io.containerd.metadata.v1.bolt", overlayfs}, true, container.Overlayfs},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for _, name := range tt.folders {
				if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
					t.Fatal(err)
				}
			}

			layers := filepath.Join(root, "absent")
			if tt.layers {
				layers = t.TempDir()
			}

			if got := snapshotterOf(root, layers); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestUnusedSnapshotterIsDisabled(t *testing.T) {
	for _, tt := range []struct {
		snapshotter string
		want        bool
	}{{container.Overlayfs, true}, {container.Native, true}, {container.Erofs, false}} {
		raw, err := renderConfig(place{snapshotter: tt.snapshotter}, chosen{})
		if err != nil {
			t.Fatal(err)
		}

		var got struct {
			Disabled []string `toml:"disabled_plugins"`
		}

		if err := toml.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}

		if disabled := slices.Contains(got.Disabled, erofsPlugin); disabled != tt.want {
			t.Errorf("%s: EROFS disabled: got %t, want %t", tt.snapshotter, disabled, tt.want)
		}
	}
}

func TestPlaceWithoutModule(t *testing.T) {
	missing := errors.New("no such module")

	_, err := placeOf(platform.Platform{}, t.TempDir(), t.TempDir(), func(string, ...string) error { return missing }, slog.New(slog.DiscardHandler))
	if !errors.Is(err, missing) {
		t.Errorf("got %v, want %v", err, missing)
	}
}

func TestImageCacheIsWaitedFor(t *testing.T) {
	for phase, want := range map[block.VolumePhase]bool{
		block.VolumePhaseWaiting: true, block.VolumePhaseLocated: true, block.VolumePhaseProvisioned: true, block.VolumePhasePrepared: true,
		block.VolumePhaseReady: false, block.VolumePhaseMissing: false, block.VolumePhaseFailed: false, block.VolumePhaseClosed: false,
	} {
		if got := coming(phase); got != want {
			t.Errorf("%s: got %t, want %t", phase, got, want)
		}
	}
}
