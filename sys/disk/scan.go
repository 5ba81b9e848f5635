// SPDX-License-Identifier: Apache-2.0

// Package disk lists block devices from sysfs, and tells the kernel which partitions were created or grown. The kernel reads a
// partition table again only if no partition of the disk is in use, which is never true of the system disk. So each changed partition
// is passed to the kernel (BLKPG).
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Sys is where sysfs is mounted.
const Sys = "/sys"

// Device is a block device.
type Device struct {
	// Name is the kernel's: vda, vda1.
	Name         string
	Path         string
	Major, Minor int
	// Parent is the disk of a partition, empty for a disk.
	Parent string
	// Partition is the partition number from 1, 0 for a disk.
	Partition int
	// PartitionName is the label in the partition table, if the kernel has it.
	PartitionName string
	// Secondaries are the devices that a composed device consists of.
	Secondaries []string
}

// Scan lists the block devices that have a size, sorted by name, without RAM disks and without layers of container images.
func Scan(sys string) ([]Device, error) {
	dir := filepath.Join(sys, "class/block")

	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list block devices: %w", err)
	}

	var out []Device

	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "ram") || strings.HasPrefix(e.Name(), "zram") {
			continue
		}

		// It may be removed at any time.
		d, err := scanOne(dir, e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}

		if err != nil {
			return nil, fmt.Errorf("list block devices: %s: %w", e.Name(), err)
		}

		if d != nil {
			out = append(out, *d)
		}
	}

	return out, nil
}

// isLayer reports whether a device is a loop device by which containerd has mounted a layer. Such a device exists as long as a
// container; opening it would keep it from being removed.
func isLayer(dir string) bool {
	return strings.HasSuffix(readText(dir, "loop/backing_file"), ".erofs") && readText(dir, "loop/autoclear") == "1"
}

func scanOne(dir, name string) (*Device, error) {
	dir = filepath.Join(dir, name)

	size, err := readNumber(dir, "size")
	if err != nil || size == 0 || strings.HasPrefix(name, "loop") && isLayer(dir) {
		return nil, err
	}

	d := &Device{Name: name}

	vars, err := os.ReadFile(filepath.Join(dir, "uevent"))
	if err != nil {
		return nil, err
	}

	for line := range strings.Lines(string(vars)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")

		switch key {
		case "MAJOR":
			d.Major, err = strconv.Atoi(value)
		case "MINOR":
			d.Minor, err = strconv.Atoi(value)
		case "DEVNAME":
			d.Path = "/dev/" + value
		case "PARTN":
			d.Partition, err = strconv.Atoi(value)
		case "PARTNAME":
			d.PartitionName = value
		}

		if err != nil {
			return nil, fmt.Errorf("uevent: %s: %w", key, err)
		}
	}

	if d.Partition > 0 {
		// The entry is a link into the disk's folder.
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, err
		}

		d.Parent = filepath.Base(filepath.Dir(real))
	}

	slaves, err := os.ReadDir(filepath.Join(dir, "slaves"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}

	for _, s := range slaves {
		d.Secondaries = append(d.Secondaries, s.Name())
	}

	return d, nil
}

func readText(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}

	return strings.TrimSpace(strings.ToValidUTF8(string(b), "?"))
}

func readNumber(dir, name string) (uint64, error) {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0, err
	}

	return strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
}

// Notify makes the kernel send a change event of a device to every listener, after something was written to it.
func Notify(sys, name string) error {
	if err := os.WriteFile(filepath.Join(sys, "class/block", name, "uevent"), []byte("change"), 0o200); err != nil {
		return fmt.Errorf("notify a change of %s: %w", name, err)
	}

	return nil
}
