// SPDX-License-Identifier: Apache-2.0

package mount_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// An overlay works in a folder that exists; on another overlay the kernel decides. Nothing is left.
func TestTryOverlay(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	dir := t.TempDir()

	if err := (mount.Point{Source: "tmpfs", Target: dir, FSType: "tmpfs"}).Mount(); err != nil {
		t.Fatal(err)
	}

	if err := mount.TryOverlay(dir); err != nil {
		t.Skipf("this kernel has no overlays: %v", err)
	}

	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	merged := filepath.Join(dir, "merged")
	if err := (mount.Point{
		Source: "overlay", Target: merged, FSType: "overlay",
		Data: "lowerdir=" + dir + "/lower,upperdir=" + dir + "/upper,workdir=" + dir + "/work",
	}).Mount(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := errors.Join(mount.Unmount(merged), mount.Unmount(dir)); err != nil {
			t.Error(err)
		}
	})

	if err := mount.TryOverlay(merged); err == nil {
		t.Error("an overlay on an overlay worked")
	}

	if err := mount.TryOverlay(filepath.Join(dir, "absent")); err == nil {
		t.Error("an overlay worked where there is no folder")
	}

	for _, at := range []string{dir, merged} {
		if left, err := filepath.Glob(filepath.Join(at, ".overlay-*")); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}
