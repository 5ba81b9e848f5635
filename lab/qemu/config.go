// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/qemu/accel"
)

// Config describes a machine.
type Config struct {
	Name string
	// UUID is that of the machine in the firmware, and Serial its serial number there.
	UUID, Serial string
	// Dir is the folder of the machine's console logs and its copy of the firmware's variables.
	Dir string
	// Binary is QEMU's path.
	Binary    string
	Accel     accel.Accel
	CPUs      int
	MemoryMiB int
	// Cards are the machine's network cards, in the order in which the guest finds them.
	Cards []machine.Card
	// Firmware is UEFI; without it the machine has the BIOS that QEMU has.
	Firmware *Firmware
	// Disks are the machine's disks. It boots from the first one that has something to start.
	Disks []Disk
	// CD is the image of a CD, from which the machine boots when it cannot boot from a disk; empty for none.
	CD string
	// Kernel, if set, is started directly, with Initrd and Cmdline.
	Kernel, Initrd, Cmdline string
}

// Firmware is a UEFI build for QEMU.
type Firmware struct {
	// Code is mapped read-only.
	Code string `yaml:"code"`
	// Vars is copied for each machine.
	Vars string `yaml:"vars"`
}

// Disk is a virtio disk.
type Disk struct {
	Path string
	// Format is "qcow2" or "raw".
	Format string
	// Base and GiB are those that the disk was created with, see CreateOverlay.
	Base string
	GiB  int
	// Log, if set, is a file that records each write and flush, in the format of dm-log-writes (package test/replay). Such a disk
	// cannot be made slow (SetDisk).
	Log string
}

// ConsolePath returns the log of the latest boot; those of earlier boots are beside it, see machine.Console.
func (c *Config) ConsolePath() string { return filepath.Join(c.Dir, "console.log") }

func (c *Config) varsPath() string { return filepath.Join(c.Dir, "efivars.fd") }

// The descriptors that QEMU inherits.
const (
	fdConsole = 3 + iota
	fdMonitor
	fdCards // and the next ones for the other cards
)

// args returns QEMU's arguments.
func (c *Config) args() []string {
	args := []string{
		"-name", "guest=" + c.Name + ",debug-threads=on",
		"-uuid", c.UUID,
		"-machine", "q35,smm=off",
		"-smp", strconv.Itoa(c.CPUs),
		"-m", strconv.Itoa(c.MemoryMiB),
		"-nodefaults", "-no-user-config", "-display", "none",
		"-msg", "timestamp=on",
		"-rtc", "base=utc",
		// Boot only from the disk, without first trying the network.
		"-boot", "menu=off,strict=on",
		"-device", "virtio-rng-pci",
		// A guest that opens the watchdog and then hangs is reset. Debian's kernel for clouds has no driver for it
		// (build -sizes); softdog is what a guest has there.
		"-device", "i6300esb", "-action", "watchdog=reset",
		"-add-fd", fmt.Sprintf("fd=%d,set=1", fdConsole),
		"-chardev", "file,id=console,path=/dev/fdset/1,append=on",
		"-serial", "chardev:console",
		"-chardev", fmt.Sprintf("socket,id=monitor,fd=%d", fdMonitor),
		"-mon", "chardev=monitor,mode=control",
	}

	if c.Serial != "" {
		args = append(args, "-smbios", "type=1,serial="+comma(c.Serial))
	}

	args = append(args, c.cardArgs()...)
	args = append(args, c.Accel.Args(c.CPUs)...)

	if c.Firmware != nil {
		args = append(args,
			"-drive", "if=pflash,unit=0,format=raw,readonly=on,file="+comma(c.Firmware.Code),
			"-drive", "if=pflash,unit=1,format=raw,file="+comma(c.varsPath()))
	}

	for i, d := range c.Disks {
		id := diskID(i)

		args = append(args, d.args(id)...)
		args = append(args, "-device", fmt.Sprintf("virtio-blk-pci,drive=%s,serial=%s,bootindex=%d", id, id, i+1))
	}

	if c.CD != "" {
		args = append(args, cdArgs(c.CD, len(c.Disks)+1)...)
	}

	if c.Kernel != "" {
		args = append(args, "-kernel", c.Kernel, "-append", c.Cmdline)
		if c.Initrd != "" {
			args = append(args, "-initrd", c.Initrd)
		}
	}

	return args
}

// cdArgs returns the arguments for a drive with a CD. Both kinds of firmware have a driver for it, and every kernel of the build: those for
// virtual machines have none for IDE and AHCI.
func cdArgs(path string, bootIndex int) []string {
	return []string{
		"-device", "virtio-scsi-pci,id=scsi",
		"-drive", "if=none,id=cd,format=raw,readonly=on,file=" + comma(path),
		"-device", fmt.Sprintf("scsi-cd,bus=scsi.0,drive=cd,bootindex=%d", bootIndex),
	}
}

// comma escapes a path for an option list, in which a comma is doubled.
func comma(path string) string { return strings.ReplaceAll(path, ",", ",,") }

// diskID is the name of a disk for QEMU.
func diskID(disk int) string { return "disk" + strconv.Itoa(disk) }
