// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/efivar"
)

// TestBootLoader finds the partition with the boot entries: EFI when the kernel has variables of UEFI firmware, and BOOT otherwise.
func TestBootLoader(t *testing.T) {
	set := func(err error) {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}
	}
	st, dir := memory.New(), t.TempDir()
	cmdline := filepath.Join(dir, "cmdline")

	set(os.WriteFile(cmdline, []byte("quiet talos.boot.entry=B\n"), 0o600))
	set(typed.Set(t.Context(), st, "", block.SystemDiskID, block.SystemDiskSpec{DiskID: "vda", DevPath: filepath.Join(dir, "vda")}))

	add := func(disk, name, label string) {
		t.Helper()

		v := block.DiscoveredVolumeSpec{DevPath: filepath.Join(dir, name), Parent: disk, PartitionLabel: label}
		set(typed.Set(t.Context(), st, "", name, v))
	}

	add("vdb", "vdb1", "EFI")
	add("vdb", "vdb3", "BOOT")
	add("vda", "vda1", "EFI")

	for _, tt := range []struct {
		name string
		vars efivar.Dir
		bios bool
		boot bool
		want string
	}{
		{"UEFI", efivar.Dir(dir), false, false, filepath.Join(dir, "vda1")},
		{"a BIOS, a disk for UEFI", "/nonexistent", true, false, "the system disk has no partition BOOT, and the machine was not started by UEFI firmware"},
		{"a BIOS", "/nonexistent", true, true, filepath.Join(dir, "vda3")},
		{"UEFI, a disk for both", efivar.Dir(dir), false, true, filepath.Join(dir, "vda1")},
	} {
		if tt.boot {
			add("vda", "vda3", "BOOT")
		}

		l, err := bootLoader(st, tt.vars, cmdline)
		if err != nil || l.BIOS != tt.bios || !strings.Contains(l.Cmdline, "talos.boot.entry=B") {
			t.Errorf("%s: got %+v, %v", tt.name, l, err)

			continue
		}

		// There are no such devices.
		if err := l.Use(func(loader.Loader) error { return nil }); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}

	if _, err := bootLoader(st, "", filepath.Join(dir, "none")); err == nil {
		t.Error("no command line: got no error")
	}
}
