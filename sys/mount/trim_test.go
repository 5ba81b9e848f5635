// SPDX-License-Identifier: Apache-2.0

package mount_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// A file system in memory cannot be trimmed.
func TestTrim(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	dir := t.TempDir()

	if err := (mount.Point{Source: "tmpfs", Target: dir, FSType: "tmpfs"}).Mount(); err != nil {
		t.Fatal(err)
	}

	defer mount.Unmount(dir)

	if size, err := mount.Trim(t.Context(), dir); !errors.Is(err, mount.ErrNoTrim) {
		t.Errorf("got %d, %v, want %v", size, err, mount.ErrNoTrim)
	}

	if _, err := mount.Trim(t.Context(), filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: got %v", err)
	}
}
