// SPDX-License-Identifier: Apache-2.0

package mount_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// A folder of a read-only file system becomes writable, without its file system, and keeps its changes. A writable one stays as it is.
func TestWritable(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	dir := t.TempDir()
	image, opt, layers := filepath.Join(dir, "image"), filepath.Join(dir, "image/opt"), filepath.Join(dir, "var/overlays/opt")

	if err := errors.Join(
		mount.Point{Source: "tmpfs", Target: dir, FSType: "tmpfs"}.Mount(), os.Mkdir(image, 0o755),
		mount.Point{Source: "tmpfs", Target: image, FSType: "tmpfs"}.Mount(), os.MkdirAll(filepath.Join(opt, "cni/bin"), 0o755),
		os.WriteFile(filepath.Join(opt, "cni/bin/bridge"), []byte("image"), 0o755),
	); err != nil {
		t.Fatal(err)
	}

	if err := mount.TryOverlay(dir); err != nil {
		t.Skipf("this kernel has no overlays: %v", err)
	}

	mounted := func() bool {
		t.Helper()

		table, err := mount.Table()
		if err != nil {
			t.Fatal(err)
		}

		return slices.ContainsFunc(table, func(e mount.Entry) bool { return e.Target == opt })
	}

	if err := mount.Writable(opt, layers); err != nil || mounted() {
		t.Fatalf("a writable folder: got %v, mounted: %v", err, mounted())
	}

	if err := mount.Remount(image, mount.ReadOnly); err != nil {
		t.Fatal(err)
	}

	plugin := filepath.Join(opt, "cni/bin/other")

	for range 2 { // it is mounted again with its changes after EPHEMERAL was unmounted
		if err := mount.Writable(opt, layers); err != nil || !mounted() {
			t.Fatalf("a read-only folder: got %v, mounted: %v", err, mounted())
		}

		if text, err := os.ReadFile(filepath.Join(opt, "cni/bin/bridge")); err != nil || string(text) != "image" {
			t.Errorf("the file of the image: got %q, %v", text, err)
		}

		if _, err := os.Stat(plugin); err != nil {
			if err := os.WriteFile(plugin, []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := unix.Access(plugin, unix.X_OK); err != nil {
			t.Errorf("an installed plugin: %v", err)
		}

		if err := mount.Writable(opt, layers); err != nil {
			t.Errorf("a second call: %v", err)
		}

		if err := mount.Unmount(opt); err != nil || mounted() {
			t.Fatalf("unmount: got %v, mounted: %v", err, mounted())
		}
	}

	if _, err := os.Stat(layers + "-diff/cni/bin/other"); err != nil {
		t.Errorf("the change is not kept: %v", err)
	}

	if err := mount.Writable(filepath.Join(dir, "absent"), layers); err == nil {
		t.Error("a folder that does not exist: got no error")
	}

	if err := errors.Join(mount.Unmount(image), mount.Unmount(dir)); err != nil {
		t.Error(err)
	}
}
