// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/state"
)

// TestRefusedContainers checks that a lab that cannot be created leaves nothing.
func TestRefusedContainers(t *testing.T) {
	image := guestRoot(t)
	before := lookAtHost(t)

	options := func(t *testing.T) lab.Options {
		return lab.Options{
			Name: "refused", StateDir: filepath.Join(t.TempDir(), "refused"), ControlPlanes: 1, Image: image, Offline: true,
			Provisioner: state.Container, ControlPlane: lab.Size{CPUs: 1, MemoryMiB: 192},
		}
	}

	tests := []struct {
		name string
		edit func(t *testing.T, o *lab.Options)
		want string
	}{
		{"no root image", func(_ *testing.T, o *lab.Options) { o.Image.Root = "/nonexistent" }, "/nonexistent"},
		{"an invalid root image", func(t *testing.T, o *lab.Options) {
			o.Image.Root = filepath.Join(t.TempDir(), "rootfs.sqsh")
			if err := os.WriteFile(o.Image.Root, []byte("no squashfs"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "unpack the root image"},
		{"no process 1", func(t *testing.T, o *lab.Options) {
			o.Image.Root = t.TempDir()
			for _, dir := range []string{"dev", "proc", "sys", "run", "system", "tmp", "var"} {
				if err := os.Mkdir(filepath.Join(o.Image.Root, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}, "run /sbin/init: no such file or directory"},
		{"a root without a place for the mounts", func(t *testing.T, o *lab.Options) { o.Image.Root = t.TempDir() }, "proc /proc: "},
		{"no unsquashfs", func(t *testing.T, o *lab.Options) {
			o.Image.Root = filepath.Join(t.TempDir(), "rootfs.sqsh")
			if err := os.WriteFile(o.Image.Root, nil, 0o600); err != nil {
				t.Fatal(err)
			}

			t.Setenv("PATH", t.TempDir())
		}, "apt-get install squashfs-tools"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t)
			tt.edit(t, &o)

			l, err := lab.Create(t.Context(), o)
			if err == nil {
				t.Cleanup(func() { _ = l.Destroy(context.WithoutCancel(t.Context())) })
			}

			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want it to hold %q", err, tt.want)
			}

			if _, err := os.Stat(o.StateDir); !os.IsNotExist(err) {
				t.Errorf("the lab's directory is left: %v", err)
			}
		})
	}

	t.Run("a name in use", func(t *testing.T) {
		o := options(t)

		l, err := lab.Create(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { _ = l.Destroy(context.WithoutCancel(t.Context())) })

		if _, err := lab.Create(t.Context(), o); err == nil || !strings.Contains(err.Error(), "lab refused is running already") {
			t.Errorf("got %v, want an error about the existing lab", err)
		}

		booted(t, l.Node(0)) // it still runs
	})

	if d := cmp.Diff(before, lookAtHost(t)); d != "" {
		t.Errorf("this computer was changed (-before +after):\n%s", d)
	}
}
