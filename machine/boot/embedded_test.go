// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/layout"
)

func TestEmbedConfig(t *testing.T) {
	runtime.LockOSThread() // and not unlocked: the thread's namespace ends with it

	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		t.Skipf("no mount namespace: %v", err)
	}

	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		t.Skipf("no private mounts: %v", err)
	}

	initramfs, root := t.TempDir(), t.TempDir()
	source, target := filepath.Join(initramfs, layout.EmbeddedConfig), filepath.Join(root, layout.EmbeddedConfig)

	if err := embedConfig(initramfs, root); err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(filepath.Dir(target)); !os.IsNotExist(err) {
		t.Errorf("without a configuration: got %v, want no folder", err)
	}

	for _, dir := range []string{filepath.Dir(source), filepath.Dir(target)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.WriteFile(source, []byte("machine: {}"), 0o600); err != nil {
		t.Fatal(err)
	}

	if err := embedConfig(initramfs, root); err != nil {
		t.Fatal(err)
	}

	if got, err := os.ReadFile(target); err != nil || string(got) != "machine: {}" {
		t.Errorf("got %q, %v", got, err)
	}

	var fs unix.Statfs_t
	if err := unix.Statfs(target, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		t.Errorf("got the file system %#x, %v, want one in memory", fs.Type, err)
	}

	if info, err := os.Stat(filepath.Dir(target)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: got %v, %v", info.Mode(), err)
	}

	if err := unix.Unmount(filepath.Dir(target), unix.MNT_DETACH); err != nil {
		t.Error(err)
	}
}
