// SPDX-License-Identifier: Apache-2.0

//go:build linux

package installation

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/blkid"
)

var disks = []block.DiskSpec{
	{DevPath: "/dev/sda", Size: 500e9, Model: "Samsung SSD", Serial: "A1", BusPath: "/pci0000:00/0000:00:05.0/ata1", Transport: "sata"},
	{DevPath: "/dev/sdb", Size: 4000e9, Model: "WDC", Serial: "B2", Rotational: true, Transport: "sata"},
	{DevPath: "/dev/nvme0n1", Size: 1000e9, Model: "PM9A3", Transport: "nvme", WWID: "eui.0123"},
	{DevPath: "/dev/mmcblk0", Size: 32e9, Transport: "mmc"},
}

func TestMeant(t *testing.T) {
	type selector = view.InstallDiskSelector

	for _, tt := range []struct {
		name string
		want view.Install
		// disks, or a part of the error.
		disks, err string
	}{
		{name: "path", want: view.Install{Disk: "/dev/sdb"}, disks: "/dev/sdb"},
		{name: "link", want: view.Install{Disk: "/dev/disk/by-id/a"}, disks: "/dev/sda"},
		{name: "no such path", want: view.Install{Disk: "/dev/sdz"}, err: "machine.install.disk: no such disk"},
		{name: "expression", want: view.Install{Match: `disk.size > 600u * GB && !disk.rotational`}, disks: "/dev/nvme0n1"},
		{name: "expression with a pattern", want: view.Install{Match: `glob("samsung*", disk.model)`}, disks: "/dev/sda"},
		{name: "expression for several", want: view.Install{Match: `disk.transport == "sata" && !system_disk`}, disks: "/dev/sda /dev/sdb"},
		{name: "expression with an unknown field", want: view.Install{Match: `disk.colour == "red"`}, err: "diskSelector.match"},
		{name: "expression that is a number", want: view.Install{Match: `disk.size`}, err: "want true or false"},
		{name: "selector wins over the path", want: view.Install{Disk: "/dev/sdb", Selector: selector{Type: "NVMe"}}, disks: "/dev/nvme0n1"},
		{name: "size", want: view.Install{Selector: selector{Size: ">= 1TB"}}, disks: "/dev/sdb /dev/nvme0n1"},
		{name: "exact size", want: view.Install{Selector: selector{Size: "32GB"}}, disks: "/dev/mmcblk0"},
		{name: "all must match", want: view.Install{Selector: selector{Size: "<= 1TB", Type: "ssd", Model: "Samsung*"}}, disks: "/dev/sda"},
		{name: "pattern over folders", want: view.Install{Selector: selector{BusPath: "/pci0000:00/*"}}, disks: "/dev/sda"},
		{name: "name", want: view.Install{Selector: selector{Name: "mmcblk*"}}, disks: "/dev/mmcblk0"},
		{name: "type", want: view.Install{Selector: selector{Type: "hdd"}}, disks: "/dev/sdb"},
		{name: "unknown type", want: view.Install{Selector: selector{Type: "tape"}}, err: `"tape" is not one of`},
		{name: "bad size", want: view.Install{Selector: selector{Size: ">= much"}}, err: "diskSelector.size"},
		{name: "bad operator", want: view.Install{Selector: selector{Size: "=> 1GB"}}, err: `"=>" is not an operator`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			match, err := meant(&tt.want, func(path string) (string, error) {
				switch path {
				case "/dev/disk/by-id/a":
					return "/dev/sda", nil
				case "/dev/sdz":
					return "", errors.New("no such disk")
				default:
					return path, nil
				}
			})

			var got []string

			for _, d := range disks {
				if err != nil {
					break
				}

				var ok bool
				if ok, err = match(d); ok {
					got = append(got, d.DevPath)
				}
			}

			if strings.Join(got, " ") != tt.disks || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %v, %v; want %q, %q", got, err, tt.disks, tt.err)
			}
		})
	}
}

func TestCandidates(t *testing.T) {
	part := func(path, disk, id string) block.DiscoveredVolumeSpec {
		return block.DiscoveredVolumeSpec{Type: block.DeviceTypePartition, Name: blkid.VFAT, DevPath: path, ParentDevPath: disk, PartitionUUID: id}
	}
	found := []block.DiscoveredVolumeSpec{
		part("/dev/sda1", "/dev/sda", "aa"), part("/dev/sdb1", "/dev/sdb", "bb"),
		{Type: block.DeviceTypeDisk, Name: blkid.GPT, DevPath: "/dev/sr0"},
		{Type: block.DeviceTypePartition, Name: blkid.XFS, DevPath: "/dev/sda2", ParentDevPath: "/dev/sda"},
	}
	all := []block.DiskSpec{{DevPath: "/dev/sda"}, {DevPath: "/dev/sdb"}, {DevPath: "/dev/sr0", CDROM: true}}

	for partition, want := range map[string]string{
		"":   "/dev/sr0 /dev/sda1 /dev/sdb1",
		"BB": "/dev/sdb1 /dev/sr0 /dev/sda1",
	} {
		var got []string
		for _, c := range candidates(all, found, partition) {
			got = append(got, c.path)
		}

		if strings.Join(got, " ") != want {
			t.Errorf("started from %q: got %v, want %s", partition, got, want)
		}
	}
}

func TestStartedFrom(t *testing.T) {
	found := []block.DiscoveredVolumeSpec{
		{Type: block.DeviceTypeDisk, Name: blkid.GPT, DevPath: "/dev/sda"},
		{Type: block.DeviceTypePartition, DevPath: "/dev/sda1", ParentDevPath: "/dev/sda", PartitionUUID: "AA"},
		{Type: block.DeviceTypePartition, DevPath: "/dev/sdb1", ParentDevPath: "/dev/sdb"},
	}

	for partition, want := range map[string]string{"aa": "/dev/sda", "bb": "", "": ""} {
		if got := startedFrom(found, partition); got != want {
			t.Errorf("partition %q: got %q, want %q", partition, got, want)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, tt := range []struct {
		own, running, medium string
		extra                []string
		want                 string
	}{
		{"quiet pti=on", "quiet pti=on", "quiet pti=on", nil, "quiet pti=on"},
		{"quiet pti=on", "quiet pti=on talos.platform=nocloud initrd=x talos.config.inline=abc", "quiet pti=on", nil, "quiet pti=on talos.platform=nocloud"},
		{"new", "old extra", "old", nil, "new extra"},
		{"console=tty0 console=ttyS0", "console=tty0 console=ttyS0 console=ttyS1", "console=tty0 console=ttyS0", nil, "console=tty0 console=ttyS0 console=ttyS1"},
		{"console=tty0 console=ttyS0 a=b", "", "", []string{"-console", "-a=c", "c=d"}, "a=b c=d"},
		{"a=b a=c", "", "", []string{"-a=b"}, "a=c"},
	} {
		if got := strings.Join(arguments(tt.own, tt.running, tt.medium, tt.extra), " "); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.own, got, tt.want)
		}
	}

	if got := without([]string{"x", "x"}, []string{"x"}); !slices.Equal(got, []string{"x"}) {
		t.Errorf("got %v", got)
	}
}
