// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/sys/disk"
)

// tree creates a sysfs with one virtio disk, a partition of it, loop devices (empty, a layer of a container, a disk) and a RAM disk.
func tree(t *testing.T) string {
	t.Helper()

	sys, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	const (
		vda  = "devices/pci0000:00/virtio1/block/vda"
		loop = "devices/virtual/block/loop"
	)

	for path, content := range map[string]string{
		vda + "/size":                     "4096\n",
		vda + "/uevent":                   "MAJOR=254\nMINOR=0\nDEVNAME=vda\nDEVTYPE=disk\n",
		vda + "/ro":                       "0\n",
		vda + "/serial":                   "abc\n",
		vda + "/queue/logical_block_size": "512\n",
		vda + "/queue/minimum_io_size":    "4096\n",
		vda + "/queue/rotational":         "1\n",
		vda + "/vda1/size":                "2048\n",
		vda + "/vda1/uevent":              "MAJOR=254\nMINOR=1\nDEVNAME=vda1\nDEVTYPE=partition\nPARTN=1\nPARTNAME=META\n",
		loop + "0/size":                   "0\n",
		loop + "1/size":                   "8\n",
		loop + "1/uevent":                 "MAJOR=7\nMINOR=1\nDEVNAME=loop1\nDEVTYPE=disk\n",
		loop + "1/loop/autoclear":         "1\n",
		loop + "1/loop/backing_file":      "/system/imagecache/layers/1.erofs\n",
		loop + "2/size":                   "8\n",
		loop + "2/uevent":                 "MAJOR=7\nMINOR=2\nDEVNAME=loop2\nDEVTYPE=disk\n",
		loop + "2/loop/autoclear":         "0\n",
		loop + "2/loop/backing_file":      "/var/2.erofs\n",
		"devices/virtual/block/ram0/size": "100\n",
		"bus/virtio/x":                    "",
		"class/block/x":                   "",
	} {
		path = filepath.Join(sys, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Remove(filepath.Join(sys, "class/block/x")); err != nil {
		t.Fatal(err)
	}

	for link, target := range map[string]string{
		"class/block/vda":                      "../../" + vda,
		"class/block/vda1":                     "../../" + vda + "/vda1",
		"class/block/loop0":                    "../../devices/virtual/block/loop0",
		"class/block/loop1":                    "../../" + loop + "1",
		"class/block/loop2":                    "../../" + loop + "2",
		"class/block/ram0":                     "../../devices/virtual/block/ram0",
		"class/block/gone":                     "../../devices/gone",
		vda + "/device":                        "../..",
		"devices/pci0000:00/virtio1/subsystem": "../../../bus/virtio",
	} {
		if err := os.Symlink(target, filepath.Join(sys, link)); err != nil {
			t.Fatal(err)
		}
	}

	return sys
}

func TestScan(t *testing.T) {
	got, err := disk.Scan(tree(t))
	want := []disk.Device{
		{Name: "loop2", Path: "/dev/loop2", Major: 7, Minor: 2},
		{Name: "vda", Path: "/dev/vda", Major: 254},
		{Name: "vda1", Path: "/dev/vda1", Major: 254, Minor: 1, Parent: "vda", Partition: 1, PartitionName: "META"},
	}

	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("err %v (-want +got):\n%s", err, diff)
	}
}

func TestIdentify(t *testing.T) {
	got, err := disk.Identify(tree(t), "vda")
	want := disk.Identity{
		Size: 2 << 20, IOSize: 4096, SectorSize: 512, Rotational: true, Serial: "abc", Transport: "virtio",
		BusPath: "/pci0000:00/virtio1",
	}

	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("err %v (-want +got):\n%s", err, diff)
	}

	if _, err := disk.Identify(tree(t), "vdx"); err == nil {
		t.Error("a disk that is not there was identified")
	}
}
