// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/seed-59268b81/talos/sys/container"
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
		{"a computer of its own", metal, settings{}, settings{}},
		{"a container with all rights", place{snapshotter: container.Overlayfs}, settings{AppArmor: true}, settings{}},
		{"no lower scores", place{snapshotter: container.Overlayfs, keepOOMScores: true}, settings{AppArmor: true, Restrict: true}, settings{}},
		{"no overlays", place{snapshotter: container.Native}, settings{AppArmor: true}, settings{Layers: "native"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := renderConfig(tt.at)
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

// What is done for the health of containerd is done after it answers, until it works, and then no more.
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
