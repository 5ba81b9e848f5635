// SPDX-License-Identifier: Apache-2.0

package install_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/sys/gpt"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// tableOf returns a table with partitions of these labels.
func tableOf(t testing.TB, labels ...string) *gpt.Table {
	t.Helper()

	table, err := gpt.New(20*gib, 512)
	if err != nil {
		t.Fatal(err)
	}

	for _, label := range labels {
		typ := gpt.TypeLinuxData
		if label == "EFI" {
			typ = gpt.TypeESP
		}

		if _, err := table.Add(gpt.Partition{Label: label, Type: typ}, mib, mib); err != nil {
			t.Fatal(err)
		}
	}

	return table
}

func TestPlan(t *testing.T) {
	for name, tt := range map[string]struct {
		sector  uint64
		request install.Request
		want    []string
	}{
		"UEFI":            {512, install.Request{Firmware: install.UEFI}, []string{"1 EFI 1 2101", "2 META 2102 1"}},
		"UEFI, 4K":        {4096, install.Request{Firmware: install.UEFI}, []string{"1 EFI 1 2101", "2 META 2102 1"}},
		"BIOS":            {512, install.Request{Firmware: install.BIOS}, []string{"1 EFI 1 100", "2 BIOS 101 1", "3 BOOT 102 2000", "4 META 2102 1"}},
		"either":          {512, install.Request{Firmware: install.Either}, []string{"1 EFI 1 1100", "2 BIOS 1101 1", "3 BOOT 1102 1000", "4 META 2102 1"}},
		"with an archive": {512, install.Request{Firmware: install.UEFI, ImageCache: 5*mib + 1}, []string{"1 EFI 1 2101", "2 META 2102 1", "3 IMAGECACHE 2103 6"}},
	} {
		plan, err := install.For(install.Disk{Name: "/dev/vda", Size: 20 * gib, SectorSize: tt.sector}, tt.request)
		if err != nil {
			t.Errorf("%s: %v", name, err)

			continue
		}

		var got []string
		for _, p := range plan.Table.Partitions {
			got = append(got, fmt.Sprint(p.Number, " ", p.Label, " ", p.First*tt.sector/mib, " ", p.Sectors()*tt.sector/mib))
		}

		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestRefused(t *testing.T) {
	good := install.Disk{Name: "/dev/sda", Size: 20 * gib, SectorSize: 512}
	uefi := install.Request{Firmware: install.UEFI}

	disk := func(change func(*install.Disk)) install.Disk {
		d := good
		change(&d)

		return d
	}

	for name, tt := range map[string]struct {
		disk    install.Disk
		request install.Request
		is      error
		want    string
	}{
		"read-only":       {disk(func(d *install.Disk) { d.ReadOnly = true }), uefi, nil, "the disk is read-only"},
		"a CD":            {disk(func(d *install.Disk) { d.CDROM = true }), uefi, nil, "it is a CD-ROM"},
		"a CD and a BIOS": {disk(func(d *install.Disk) { d.CDROM, d.SectorSize = true, 2048 }), install.Request{Firmware: install.BIOS}, nil, "it is a CD-ROM"},
		"in use":          {disk(func(d *install.Disk) { d.Users = []string{"EPHEMERAL, mounted on /var"} }), uefi, nil, "the disk is in use by EPHEMERAL, mounted on /var"},
		"too small":       {disk(func(d *install.Disk) { d.Size = 4 * gib }), uefi, install.ErrTooSmall, "it has 4096 MiB, and the system needs 4252 MiB"},
		"a file system": {
			disk(func(d *install.Disk) { d.Content = "xfs" }), uefi, install.ErrNotEmpty, "it holds xfs: permit to wipe it",
		},
		"partitions": {
			disk(func(d *install.Disk) { d.Content, d.Table = "gpt", tableOf(t, "EFI", "data") }), uefi, install.ErrNotEmpty, "the partitions EFI, data",
		},
		"an installed system": {
			disk(func(d *install.Disk) { d.Content, d.Table, d.Begun = "gpt", tableOf(t, "EFI", "META"), true }), uefi, install.ErrNotEmpty,
			"the partitions EFI, META",
		},
		"an EFI partition of another system": {
			disk(func(d *install.Disk) { d.Content, d.Table = "gpt", tableOf(t, "EFI") }), uefi, install.ErrNotEmpty, "the partitions EFI",
		},
		"partitions beside an interrupted installation": {
			disk(func(d *install.Disk) { d.Content, d.Table, d.Begun = "gpt", tableOf(t, "EFI", "data"), true }), uefi, install.ErrNotEmpty, "EFI, data",
		},
		"a file system over an interrupted installation": {
			disk(func(d *install.Disk) { d.Content, d.Begun = "btrfs", true }), uefi, install.ErrNotEmpty, "it holds btrfs",
		},
		"an empty table":  {disk(func(d *install.Disk) { d.Content, d.Table = "gpt", tableOf(t) }), uefi, install.ErrNotEmpty, "it holds gpt"},
		"no firmware":     {good, install.Request{}, nil, "the firmware is not known"},
		"odd sector size": {disk(func(d *install.Disk) { d.SectorSize = 520 }), uefi, nil, "sector size 520"},
	} {
		_, err := install.For(tt.disk, tt.request)

		switch {
		case err == nil || !strings.HasPrefix(err.Error(), "install to /dev/sda: ") || !strings.Contains(err.Error(), tt.want):
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		case tt.is != nil && !errors.Is(err, tt.is):
			t.Errorf("%s: got %v, want %v", name, err, tt.is)
		}
	}

	for name, d := range map[string]install.Disk{
		"what an interrupted installation left": disk(func(d *install.Disk) { d.Content, d.Table, d.Begun = "gpt", tableOf(t, "EFI", "BIOS", "BOOT"), true }),
		"half of the table of an installation":  disk(func(d *install.Disk) { d.Content, d.Begun = "unknown data", true }),
		"blank":                                 good,
	} {
		if _, err := install.For(d, uefi); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	if _, err := install.For(disk(func(d *install.Disk) { d.Content = "unknown data" }), uefi); !errors.Is(err, install.ErrNotEmpty) {
		t.Errorf("unknown data: got %v, want %v", err, install.ErrNotEmpty)
	}

	wipe := uefi
	wipe.Wipe = true

	if _, err := install.For(disk(func(d *install.Disk) { d.Content = "xfs" }), wipe); err != nil {
		t.Error(err)
	}
}

func TestChoose(t *testing.T) {
	disks := []install.Disk{
		{Name: "/dev/sdc", Size: 30 * gib, SectorSize: 512},
		{Name: "/dev/sdb", Size: 20 * gib, SectorSize: 512},
		{Name: "/dev/sda", Size: 40 * gib, SectorSize: 512, Content: "xfs"},
		{Name: "/dev/sdd", Size: gib, SectorSize: 512},
	}
	uefi := install.Request{Firmware: install.UEFI}

	d, plan, err := install.Choose(disks, uefi, func(d install.Disk) (bool, error) { return d.Size >= 30*gib, nil })
	if err != nil || d.Name != "/dev/sdc" || plan == nil || plan.Disk != "/dev/sdc" {
		t.Errorf("got %v, %v", d.Name, err)
	}

	_, _, err = install.Choose(disks, uefi, func(install.Disk) (bool, error) { return true, nil })
	if err == nil || err.Error() != "choose a disk: the selector matches /dev/sdb and /dev/sdc: it must match one" {
		t.Errorf("two disks: got %v", err)
	}

	_, _, err = install.Choose(disks, uefi, func(d install.Disk) (bool, error) {
		if d.Name == "/dev/sdb" {
			return false, errors.New("no such field")
		}

		return d.Name != "/dev/sdc", nil
	})

	const want = "choose a disk: /dev/sda: the disk is not empty: it holds xfs: permit to wipe it, or choose another disk; " +
		"/dev/sdb: the selector cannot be evaluated: no such field; /dev/sdc: the selector does not match; " +
		"/dev/sdd: the disk is too small: it has 1024 MiB, and the system needs 4252 MiB"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
