// SPDX-License-Identifier: Apache-2.0

package mount_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/mount"
)

// private moves the test into a mount namespace of its own, or skips it.
func private(t *testing.T) {
	t.Helper()

	// The thread is never unlocked: it ends with the test, and its namespace with it.
	runtime.LockOSThread()

	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		t.Skipf("no mount namespace of our own: %v", err)
	}

	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		t.Skipf("no private mounts: %v", err)
	}
}

// find returns the last mount at a target; mounts of the thread, not of the process.
func find(t *testing.T, target string) (mount.Entry, bool) {
	t.Helper()

	text, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}

	table, err := mount.ParseTable(text)
	if err != nil {
		t.Fatal(err)
	}

	var (
		got mount.Entry
		ok  bool
	)

	for _, e := range table {
		if e.Target == target {
			got, ok = e, true
		}
	}

	return got, ok
}

func TestMounts(t *testing.T) {
	private(t)

	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "a b"), filepath.Join(dir, "b"), filepath.Join(dir, "c")

	if err := os.Mkdir(c, 0o755); err != nil {
		t.Fatal(err)
	}

	p := mount.Point{Source: "tmpfs", Target: a, FSType: "tmpfs", Flags: mount.NoSuid | mount.NoExec, Data: "size=1M"}
	if err := p.Mount(); err != nil {
		t.Skipf("no mounts here: %v", err)
	}

	e, ok := find(t, a)
	if !ok || e.FSType != "tmpfs" {
		t.Fatalf("after a mount at a path with a blank: got %+v, %v", e, ok)
	}

	if err := os.Mkdir(b, 0o755); err != nil {
		t.Fatal(err)
	}

	if err := mount.Bind(a, b, mount.ReadOnly|mount.NoSuid|mount.NoExec); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(b, "x"), nil, 0o644); !errors.Is(err, unix.EROFS) {
		t.Errorf("write through a read-only bind: got %v, want EROFS", err)
	}

	if err := mount.Move(a, c); err != nil {
		t.Fatal(err)
	}

	if _, ok := find(t, a); ok {
		t.Error("a moved mount is still at its old place")
	}

	f, err := os.Create(filepath.Join(c, "open"))
	if err != nil {
		t.Fatal(err)
	}

	if err := mount.Unmount(c); !errors.Is(err, unix.EBUSY) {
		t.Errorf("unmount with an open file: got %v, want EBUSY", err)
	}

	f.Close()

	for _, target := range []string{b, c, c, filepath.Join(dir, "never")} {
		if err := mount.Unmount(target); err != nil {
			t.Errorf("unmount %s: %v", target, err)
		}
	}
}

func TestOptional(t *testing.T) {
	private(t)

	p := mount.Point{Source: "x", Target: filepath.Join(t.TempDir(), "x"), FSType: "nosuchfs"}

	var e *mount.Error
	if err := p.Mount(); !errors.As(err, &e) || e.FSType != "nosuchfs" {
		t.Errorf("unknown file system: got %v, want an Error that names it", err)
	}

	p.Optional = true

	if err := p.Mount(); err != nil {
		t.Errorf("the same, optional: got %v", err)
	}
}

func TestParseTable(t *testing.T) {
	text := "36 35 98:0 /mnt1 /a\\040b rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n" +
		"1 0 0:2 / / rw - rootfs none\n"

	got, err := mount.ParseTable([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	want := []mount.Entry{
		{
			ID: 36, Parent: 35, Device: "98:0", Root: "/mnt1", Target: "/a b", Options: "rw,noatime",
			FSType: "ext3", Source: "/dev/root", SuperOptions: "rw,errors=continue",
		},
		{ID: 1, Device: "0:2", Root: "/", Target: "/", Options: "rw", FSType: "rootfs", Source: "none"},
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	for _, bad := range []string{"x", "1 2 3 4 5 6\n", "a 0 0:2 / / rw - rootfs none\n"} {
		if _, err := mount.ParseTable([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func FuzzParseTable(f *testing.F) {
	f.Add([]byte("36 35 98:0 /mnt1 /a\\040b rw master:1 - ext3 /dev/root rw\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := mount.ParseTable(text)
		if err == nil && len(text) > 0 && len(table) == 0 {
			t.Error("text gave neither an entry nor an error")
		}
	})
}
