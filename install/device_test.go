// SPDX-License-Identifier: Apache-2.0

//go:build linux

package install_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/gpt"
)

// loop returns a loop device with a size in bytes.
func loop(t *testing.T, size int64, args ...string) string {
	t.Helper()

	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes loop devices")
	}

	file := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := os.Truncate(file, size); err != nil {
		t.Fatal(err)
	}

	losetup := hosttest.Need(t, "losetup")

	out, err := exec.Command(losetup, append(args, "--find", "--show", file)...).CombinedOutput()
	if err != nil {
		t.Skipf("this computer has no loop devices: %v: %s", err, out)
	}

	path := strings.TrimSpace(string(out))

	t.Cleanup(func() {
		if out, err := exec.Command(losetup, "--detach", path).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})

	return path
}

// TestRealDisk installs to a loop device.
func TestRealDisk(t *testing.T) {
	path := loop(t, 4500*mib)
	request := install.Request{Firmware: install.UEFI, EFISize: 300 * mib, ImageCache: mib}

	if err := install.To(t.Context(), disk.Sys, path, request, content(), nil); err != nil {
		t.Fatal(err)
	}

	f, err := disk.Open(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	table, err := gpt.Read(f, f.Size, f.SectorSize)
	if err != nil || table.Repair != "" {
		t.Fatalf("%v, repair %q", err, table.Repair)
	}

	if err := whole(f, table); err != nil {
		t.Error(err)
	}

	// It has a system now, which is not overwritten without permission.
	if err := install.To(t.Context(), disk.Sys, path, request, content(), nil); !errors.Is(err, install.ErrNotEmpty) {
		t.Errorf("got %v, want %v", err, install.ErrNotEmpty)
	}

	lock, err := disk.OpenUnused(path)
	if err != nil {
		t.Fatal(err)
	}

	request.Wipe = true
	if err := install.To(t.Context(), disk.Sys, path, request, content(), nil); !errors.Is(err, disk.ErrInUse) {
		t.Errorf("a disk in use: got %v, want %v", err, disk.ErrInUse)
	}

	if d, err := install.Inspect(disk.Sys, path); err != nil || len(d.Users) != 1 || d.Content != "gpt" {
		t.Errorf("got %+v, %v", d, err)
	}

	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}

	if err := install.To(t.Context(), disk.Sys, path, request, content(), nil); err != nil {
		t.Error(err)
	}
}

func TestReadOnlyDisk(t *testing.T) {
	path := loop(t, 4500*mib, "--read-only")

	if err := install.To(t.Context(), disk.Sys, path, install.Request{Firmware: install.UEFI}, content(), nil); err == nil || !strings.Contains(err.Error(), "is read-only") {
		t.Errorf("got %v", err)
	}
}

func TestUnknownData(t *testing.T) {
	path := loop(t, 64*mib)

	if err := os.WriteFile(path, []byte("a user's data"), 0); err != nil {
		t.Fatal(err)
	}

	if d, err := install.Inspect(disk.Sys, path); err != nil || d.Content != "unknown data" || d.Size != 64*mib {
		t.Errorf("got %+v, %v", d, err)
	}
}
