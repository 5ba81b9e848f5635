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

// ESP returns an EFI partition with a version whose image has a command line.
func ESP(t testing.TB, version, cmdline string) []byte {
	t.Helper()

	d := make(memory, size)

	f, err := fat.Format(d, fat.Options{Size: size, SectorSize: 512, Label: layout.PartitionEFI})
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range loader.EFIFiles(install.Bytes([]byte(Loader)), install.Bytes(UKI(cmdline)), loader.NewID(version)) {
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

// UKI returns a program with the section .cmdline alone.
func UKI(cmdline string) []byte {
	const headers, alignment = 512, 512

	le := binary.LittleEndian
	b := make([]byte, headers)

	copy(b, "MZ")
	le.PutUint32(b[60:], 64)
	copy(b[64:], "PE\x00\x00")
	le.PutUint16(b[68:], 0x8664)
	le.PutUint16(b[70:], 1) // sections, which follow as there is no optional header

	section := b[88:]
	copy(section, ".cmdline")
	le.PutUint32(section[8:], uint32(len(cmdline)))
	le.PutUint32(section[16:], alignment)
	le.PutUint32(section[20:], headers)

	return append(b, append([]byte(cmdline), make([]byte, alignment-len(cmdline))...)...)
}
