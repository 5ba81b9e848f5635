// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
)

// Identity are the properties of a disk; those that it does not report are empty.
type Identity struct {
	// Size, IOSize and SectorSize are in bytes.
	Size, IOSize, SectorSize                uint64
	ReadOnly, Rotational, CDROM             bool
	Model, Serial, WWID, UUID, Firmware     string
	Modalias, BusPath, SubSystem, Transport string
}

// sizeUnit is the unit of sizes in sysfs, whatever the disk's sector size is.
const sizeUnit = 512

// Identify reads the identity of a disk.
func Identify(sys, name string) (Identity, error) {
	dir := filepath.Join(sys, "class/block", name)

	size, err := readNumber(dir, "size")
	if err != nil {
		return Identity{}, fmt.Errorf("identify disk %s: %w", name, err)
	}

	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Identity{}, fmt.Errorf("identify disk %s: %w", name, err)
	}

	id := Identity{
		Size:       size * sizeUnit,
		ReadOnly:   readText(dir, "ro") == "1",
		Rotational: readText(dir, "queue/rotational") == "1",
		CDROM:      strings.HasPrefix(name, "sr"),
		Model:      readText(dir, "device/model"),
		Serial:     cmp.Or(readText(dir, "device/serial"), readText(dir, "serial")),
		WWID:       cmp.Or(readText(dir, "wwid"), readText(dir, "device/wwid")),
		UUID:       readText(dir, "uuid"),
		Firmware:   cmp.Or(readText(dir, "device/firmware_rev"), readText(dir, "device/rev")),
		Modalias:   readText(dir, "device/modalias"),
	}

	id.IOSize, _ = readNumber(dir, "queue/minimum_io_size")
	id.SectorSize, _ = readNumber(dir, "queue/logical_block_size")

	if path, ok := strings.CutPrefix(real, filepath.Join(sys, "devices")); ok {
		// The bus's device is above the folder block/NAME.
		id.BusPath = filepath.Dir(filepath.Dir(path))
	}

	if target, err := filepath.EvalSymlinks(filepath.Join(dir, "subsystem")); err == nil {
		id.SubSystem = target
	}

	id.Transport = transport(name, dir, real)

	return id, nil
}

func transport(name, dir, real string) string {
	bus := ""
	if target, err := filepath.EvalSymlinks(filepath.Join(dir, "device/subsystem")); err == nil {
		bus = filepath.Base(target)
	}

	switch {
	case strings.HasPrefix(name, "nvme"):
		return "nvme"
	case strings.HasPrefix(name, "mmcblk"):
		return "mmc"
	case bus == "virtio":
		return "virtio"
	case bus != "scsi":
		return ""
	case strings.Contains(real, "/usb"):
		return "usb"
	case strings.Contains(real, "/ata"):
		return "sata"
	case strings.Contains(real, "/virtio"):
		return "virtio"
	default:
		return "scsi"
	}
}
