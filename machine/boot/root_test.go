// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/sys/mount"
)

// The root image is packed, attached to a loop device, and mounted read-only.
func TestMountImage(t *testing.T) {
	mksquashfs := hosttest.Need(t, "mksquashfs")

	runtime.LockOSThread() // and not unlocked: the thread's namespace ends with it

	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		t.Skipf("no mount namespace: %v", err)
	}

	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		t.Skipf("no private mounts: %v", err)
	}

	dir := t.TempDir()
	tree, image, target := filepath.Join(dir, "tree"), filepath.Join(dir, "root.sqsh"), filepath.Join(dir, "root")

	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(tree, "file"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}

	if out, err := exec.Command(mksquashfs, tree, image, "-quiet", "-no-progress").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	if err := mountImage(image, target); err != nil {
		t.Skipf("this kernel mounts no squashfs from a loop device: %v", err)
	}

	got, err := os.ReadFile(filepath.Join(target, "file"))
	if err != nil || string(got) != "text" {
		t.Errorf("file in the image: got %q, %v", got, err)
	}

	if err := mount.Unmount(target); err != nil {
		t.Fatal(err)
	}

	if err := mountImage(filepath.Join(dir, "absent"), target); err == nil {
		t.Error("a missing image was mounted")
	}
}
