// SPDX-License-Identifier: Apache-2.0

// Package mediumtest makes media for tests: small EFI partitions with a boot loader and a unified kernel image. Neither starts.
package mediumtest

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/fat"
)

// size of an EFI partition, which is the smallest one that firmware reads as FAT32.
const size = 40 << 20

// Loader is the boot loader.
const Loader = "loader"

// ESP returns an EFI partition with a version whose image has a command line, and with more files, such as GRUB.
func ESP(t testing.TB, version, cmdline string, more ...install.File) []byte {
	t.Helper()

	d := make(memory, size)

	f, err := fat.Format(d, fat.Options{Size: size, SectorSize: 512, Label: layout.PartitionEFI})
	if err != nil {
		t.Fatal(err)
	}

	files := loader.EFIFiles(install.Bytes([]byte(Loader)), install.Bytes(UKI(cmdline)), loader.NewID(version))

	for _, file := range append(files, more...) {
		if err := install.Put(t.Context(), f, file); err != nil {
			t.Fatal(err)
		}
	}

	return d
}

// memory is a device in memory.
type memory []byte

func (m memory) ReadAt(b []byte, at int64) (int, error)  { return bytes.NewReader(m).ReadAt(b, at) }
func (m memory) WriteAt(b []byte, at int64) (int, error) { return copy(m[at:], b), nil }
func (memory) Sync() error                               { return nil }

// GRUB returns what the EFI partition of a CD has for machines with a BIOS, with the form of GRUB's programs.
func GRUB() []install.File {
	boot := append(bytes.Repeat([]byte("b"), 510), 0x55, 0xaa)
	core := append(make([]byte, 510), 0x20, 0x08)

	return []install.File{
		{Path: loader.GRUBBootPath, Source: install.Bytes(boot)},
		{Path: loader.GRUBCorePath, Source: install.Bytes(append(core, bytes.Repeat([]byte("core"), 1000)...))},
	}
}

// Kernel and Initramfs are what is in a unified kernel image.
const (
	Kernel    = "the kernel"
	Initramfs = "the initramfs"
)

// UKI returns a program with the sections of a unified kernel image that are read.
func UKI(cmdline string) []byte {
	const headers, alignment = 512, 512

	le := binary.LittleEndian
	b := make([]byte, headers)
	sections := []struct{ name, content string }{{".cmdline", cmdline}, {".linux", Kernel}, {".initrd", Initramfs}}

	copy(b, "MZ")
	le.PutUint32(b[60:], 64)
	copy(b[64:], "PE\x00\x00")
	le.PutUint16(b[68:], 0x8664)
	le.PutUint16(b[70:], uint16(len(sections))) // which follow as there is no optional header

	for i, s := range sections {
		header := b[88+40*i:]
		copy(header[:8], s.name)
		le.PutUint32(header[8:], uint32(len(s.content)))
		le.PutUint32(header[16:], alignment)
		le.PutUint32(header[20:], uint32(headers+alignment*i))

		b = append(b, append([]byte(s.content), make([]byte, alignment-len(s.content))...)...)
	}

	return b
}
