// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// TestRealEtc: on a real kernel, a read-only folder gets files that it does not have, and keeps the mounts that are there.
func TestRealEtc(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	dir := t.TempDir()
	check := func(err error) {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}
	}

	check((mount.Point{Source: "tmpfs", Target: dir, FSType: "tmpfs"}).Mount())

	defer func() { check(mount.Detach(dir)) }()

	if err := mount.TryOverlay(dir); err != nil {
		t.Skipf("this kernel has no overlays: %v", err)
	}

	etc, system := filepath.Join(dir, "etc"), filepath.Join(dir, "system")

	check(os.MkdirAll(filepath.Join(etc, "kubernetes"), 0o755))
	check(os.MkdirAll(filepath.Join(system, "kubernetes"), 0o755))

	for _, name := range []string{"hosts", "old.conf"} {
		check(os.WriteFile(filepath.Join(etc, name), []byte("of the image"), 0o644))
	}

	check(mount.Bind(etc, etc, mount.ReadOnly))
	check(mount.Bind(filepath.Join(system, "kubernetes"), filepath.Join(etc, "kubernetes"), 0))

	c := &etcFiles{
		etc: &etcFolder{path: etc, layers: filepath.Join(dir, "layers")}, shadow: filepath.Join(system, "etc"),
		bound: map[string]bool{}, created: map[string]bool{},
	}

	for _, name := range []string{"hosts", "new/deep.conf", "old.conf", "second.conf"} {
		check(c.write(name, &files.EtcFileSpecSpec{Contents: "of the machine"}))
	}

	check(c.write("hosts", &files.EtcFileSpecSpec{Contents: "changed"}))

	for name, want := range map[string]string{
		"hosts": "changed", "new/deep.conf": "of the machine", "old.conf": "of the machine", "second.conf": "of the machine",
	} {
		if got, err := os.ReadFile(filepath.Join(etc, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}

	if err := os.WriteFile(filepath.Join(etc, "by-another"), nil, 0o644); !errors.Is(err, unix.EROFS) {
		t.Errorf("another program writes: got %v, want %v", err, unix.EROFS)
	}

	check(os.WriteFile(filepath.Join(etc, "kubernetes", "written"), nil, 0o644))

	if _, err := os.Stat(filepath.Join(system, "kubernetes", "written")); err != nil {
		t.Errorf("the mount of a folder is hidden: %v", err)
	}

	for _, name := range []string{"new/deep.conf", "old.conf"} {
		check(c.undo(name))
	}

	if _, err := os.Stat(filepath.Join(etc, "new/deep.conf")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the removed file: got %v", err)
	}

	if got, err := os.ReadFile(filepath.Join(etc, "old.conf")); err != nil || string(got) != "of the image" {
		t.Errorf("the restored file: got %q, %v", got, err)
	}

	if err := c.write("kubernetes", &files.EtcFileSpecSpec{}); err == nil {
		t.Error("a file in place of a folder: got no error")
	}
}
