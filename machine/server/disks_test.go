// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/storage"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/sys/nstest"
)

func TestDisks(t *testing.T) {
	b := newBench(t)

	set(t, b, "vda", block.DiskSpec{Size: 10 << 30, DevPath: "/dev/vda", Transport: "virtio", Serial: "s", BusPath: "/pci", SubSystem: "/sys/class/block"})
	set(t, b, "nvme0n1", block.DiskSpec{Size: 1, DevPath: "/dev/nvme0n1", Transport: "nvme", Model: "m", WWID: "w", UUID: "u", Modalias: "a"})
	set(t, b, "sda", block.DiskSpec{Size: 2, DevPath: "/dev/sda", Rotational: true})
	set(t, b, "sr0", block.DiskSpec{Size: 3, DevPath: "/dev/sr0", CDROM: true, Readonly: true, Rotational: true})
	set(t, b, "mmcblk0", block.DiskSpec{Size: 4, DevPath: "/dev/mmcblk0", Transport: "mmc"})
	set(t, b, block.SystemDiskID, block.SystemDiskSpec{DiskID: "vda", DevPath: "/dev/vda"})

	r, err := storage.NewStorageServiceClient(b.conn).Disks(as(t.Context(), contract.RoleReader), &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}

	want := []*storage.Disk{
		{Name: "mmcblk0", DeviceName: "/dev/mmcblk0", Size: 4, Type: storage.Disk_SD},
		{Name: "nvme0n1", DeviceName: "/dev/nvme0n1", Size: 1, Type: storage.Disk_NVME, Model: "m", Wwid: "w", Uuid: "u", Modalias: "a"},
		{Name: "sda", DeviceName: "/dev/sda", Size: 2, Type: storage.Disk_HDD},
		{Name: "sr0", DeviceName: "/dev/sr0", Size: 3, Type: storage.Disk_CD, Readonly: true},
		{Name: "vda", DeviceName: "/dev/vda", Size: 10 << 30, Type: storage.Disk_SSD, SystemDisk: true, Serial: "s", BusPath: "/pci", Subsystem: "/sys/class/block"},
	}
	if d := cmp.Diff(want, r.GetMessages()[0].GetDisks(), protocmp.Transform()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// newSys creates a sysfs with a disk with two partitions, a read-only disk, and a volume on the second partition of a third disk.
func newSys(t *testing.T, root string) {
	t.Helper()

	for path, files := range map[string]map[string]string{
		"vda":      {"size": "2048", "uevent": "MAJOR=252\nMINOR=0\nDEVNAME=vda\n"},
		"vda/vda1": {"size": "1024", "uevent": "MAJOR=252\nMINOR=1\nDEVNAME=vda1\nPARTN=1\n"},
		"vda/vda2": {"size": "1024", "uevent": "MAJOR=252\nMINOR=2\nDEVNAME=vda2\nPARTN=2\n"},
		"vdb":      {"size": "2048", "uevent": "MAJOR=252\nMINOR=16\nDEVNAME=vdb\n", "ro": "1"},
		"vdc":      {"size": "2048", "uevent": "MAJOR=252\nMINOR=32\nDEVNAME=vdc\n"},
		"dm-0":     {"size": "2048", "uevent": "MAJOR=253\nMINOR=0\nDEVNAME=dm-0\n", "slaves/vdc": ""},
	} {
		real := filepath.Join(root, "sys/devices", path)

		err := errors.Join(os.MkdirAll(real, 0o755), os.MkdirAll(filepath.Join(root, "sys/class/block"), 0o755))
		for name, content := range files {
			err = errors.Join(err, os.MkdirAll(filepath.Dir(filepath.Join(real, name)), 0o755), os.WriteFile(filepath.Join(real, name), []byte(content), 0o600))
		}

		if err = errors.Join(err, os.Symlink(real, filepath.Join(root, "sys/class/block", filepath.Base(path)))); err != nil {
			t.Fatal(err)
		}
	}
}

// None of these calls may reach a device; no device has these names.
func TestWipeRefused(t *testing.T) {
	b := newBench(t)
	b.Root = t.TempDir()
	newSys(t, b.Root)

	set(t, b, "EPHEMERAL", block.VolumeStatusSpec{Phase: block.VolumePhaseReady, Location: "/dev/vda2"})

	client := storage.NewStorageServiceClient(b.conn)

	for _, tt := range []struct {
		name    string
		devices []*storage.BlockDeviceWipeDescriptor
		code    codes.Code
		text    string
	}{
		{"nothing", nil, codes.InvalidArgument, "at least one"},
		{"no such device", []*storage.BlockDeviceWipeDescriptor{{Device: "vdz"}}, codes.NotFound, `"vdz"`},
		{"a path", []*storage.BlockDeviceWipeDescriptor{{Device: "../vda"}}, codes.NotFound, `"../vda"`},
		{"no name", []*storage.BlockDeviceWipeDescriptor{{}}, codes.NotFound, `""`},
		{"an unknown method", []*storage.BlockDeviceWipeDescriptor{{Device: "vda1", Method: 7}}, codes.InvalidArgument, "method 7"},
		{"a disk as a partition", []*storage.BlockDeviceWipeDescriptor{{Device: "vdc", DropPartition: true}}, codes.InvalidArgument, "not a partition"},
		{"read-only", []*storage.BlockDeviceWipeDescriptor{{Device: "vdb"}}, codes.FailedPrecondition, "read-only"},
		{"a volume", []*storage.BlockDeviceWipeDescriptor{{Device: "vda2"}}, codes.FailedPrecondition, "volume EPHEMERAL is on /dev/vda2"},
		{"the disk of a volume", []*storage.BlockDeviceWipeDescriptor{{Device: "/dev/vda"}}, codes.FailedPrecondition, "volume EPHEMERAL"},
		{"part of another", []*storage.BlockDeviceWipeDescriptor{{Device: "vdc"}}, codes.FailedPrecondition, "it is part of device dm-0"},
		{"one of two", []*storage.BlockDeviceWipeDescriptor{{Device: "vda1"}, {Device: "vda2"}}, codes.FailedPrecondition, "volume EPHEMERAL"},
	} {
		_, err := client.BlockDeviceWipe(as(t.Context(), contract.RoleAdmin), &storage.BlockDeviceWipeRequest{Devices: tt.devices})
		if status.Code(err) != tt.code || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: got %v, want %v with %q", tt.name, err, tt.code, tt.text)
		}
	}
}

// TestRealWipe wipes a loop device with a partition, which it creates.
func TestRealWipe(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	const size = 64 << 20

	image := filepath.Join(t.TempDir(), "disk")
	loop := newLoop(t, image, size)
	name := filepath.Base(loop)

	b := newBench(t)
	b.Root = t.TempDir()
	onlySys(t, b.Root, name)

	client := storage.NewStorageServiceClient(b.conn)
	call := func(d *storage.BlockDeviceWipeDescriptor) error {
		_, err := client.BlockDeviceWipe(as(t.Context(), contract.RoleAdmin), &storage.BlockDeviceWipeRequest{Devices: []*storage.BlockDeviceWipeDescriptor{d}})

		return err
	}

	mounted := filepath.Join(t.TempDir())
	if out, err := exec.CommandContext(t.Context(), hosttest.Need(t, "mkfs.ext4"), "-q", loop+"p1").CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v: %s", err, out)
	}

	if err := unix.Mount(loop+"p1", mounted, "ext4", 0, ""); err != nil {
		t.Skipf("no mount: %v", err)
	}

	for _, device := range []string{name, name + "p1"} {
		if err := call(&storage.BlockDeviceWipeDescriptor{Device: device}); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "uses the device") {
			t.Errorf("wipe %s while it is mounted: got %v", device, err)
		}
	}

	if err := unix.Unmount(mounted, 0); err != nil {
		t.Fatal(err)
	}

	if err := call(&storage.BlockDeviceWipeDescriptor{Device: name + "p1"}); err != nil {
		t.Fatal(err)
	}

	if err := unix.Mount(loop+"p1", mounted, "ext4", 0, ""); err == nil {
		t.Error("the file system still exists")
	}

	if err := call(&storage.BlockDeviceWipeDescriptor{Device: name + "p1", Method: storage.BlockDeviceWipeDescriptor_ZEROES, DropPartition: true}); err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat("/sys/class/block/" + name + "p1"); !os.IsNotExist(err) {
		t.Errorf("the partition: got %v, want it removed", err)
	}

	all, err := os.ReadFile(image)
	if err != nil {
		t.Fatal(err)
	}

	if table, err := gpt.Read(bytes.NewReader(all), size, 512); err != nil || len(table.Partitions) != 0 {
		t.Errorf("the partition table: got %v, %v, want it empty", table, err)
	}

	if err := call(&storage.BlockDeviceWipeDescriptor{Device: "/dev/" + name}); err != nil {
		t.Fatal(err)
	}

	if all, err = os.ReadFile(image); err != nil || len(bytes.Trim(all, "\x00")) != 0 {
		t.Errorf("the disk still has %d bytes, %v", len(bytes.Trim(all, "\x00")), err)
	}
}

// newLoop creates a loop device with one partition.
func newLoop(t *testing.T, image string, size int64) string {
	t.Helper()

	table, err := gpt.New(uint64(size), 512)
	if err != nil {
		t.Fatal(err)
	}

	p, err := table.Add(gpt.Partition{Label: "u-test", Type: gpt.TypeLinuxData}, 16<<20, 16<<20)
	if err != nil {
		t.Fatal(err)
	}

	f, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	if err := errors.Join(f.Truncate(size), table.Write(f)); err != nil {
		t.Fatal(err)
	}

	losetup := hosttest.Need(t, "losetup")

	out, err := exec.CommandContext(t.Context(), losetup, "-f", "--show", image).CombinedOutput()
	if err != nil {
		t.Skipf("no loop device: %v: %s", err, out)
	}

	loop := strings.TrimSpace(string(out))

	t.Cleanup(func() { exec.Command(losetup, "-d", loop).Run() })

	d, err := disk.Open(loop, true)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()

	if err := d.AddPartition(1, p.First*512, p.Sectors()*512); err != nil {
		t.Skipf("the kernel accepts no partitions: %v", err)
	}

	if _, err := os.Stat(loop + "p1"); err != nil {
		t.Skipf("no device of a partition appears (no devtmpfs): %v", err)
	}

	return loop
}

// onlySys creates a sysfs with one disk and its partition, so that the test cannot wipe the computer's own.
func onlySys(t *testing.T, root, name string) {
	t.Helper()

	err := os.MkdirAll(filepath.Join(root, "sys/class/block"), 0o755)
	for _, n := range []string{name, name + "p1"} {
		err = errors.Join(err, os.Symlink("/sys/class/block/"+n, filepath.Join(root, "sys/class/block", n)))
	}

	if err != nil {
		t.Fatal(err)
	}
}
