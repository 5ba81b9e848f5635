// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/test/powercut"
)

// programs returns programs with the fields of GRUB's.
func programs(coreSize int) (boot, core []byte) {
	boot, core = bytes.Repeat([]byte{'b'}, 512), bytes.Repeat([]byte{'c'}, coreSize)
	copy(boot[510:], []byte{0x55, 0xaa})
	copy(core[488:], make([]byte, 22))
	copy(core[510:], []byte{0x20, 0x08})

	return boot, core
}

// TestGRUB installs to a disk and loads GRUB from it as a BIOS does.
func TestGRUB(t *testing.T) {
	const size = 300 << 20

	boot, core := programs(512*200 + 7)
	request := Request{Firmware: Either, EFISize: 36 << 20, BootSize: 36 << 20, Image: true}
	disk := powercut.New(size)

	plan, err := For(Disk{Name: "disk", Size: size, SectorSize: 512}, request)
	if err != nil {
		t.Fatal(err)
	}

	plan.Fresh = false

	if err := Write(t.Context(), disk, plan, Content{GRUB: &GRUB{Boot: Bytes(boot), Core: Bytes(core)}}, nil); err != nil {
		t.Fatal(err)
	}

	read := func(sector uint64, sectors int) []byte {
		t.Helper()

		b := make([]byte, sectors*512)
		if _, err := disk.ReadAt(b, int64(sector)*512); err != nil {
			t.Fatal(err)
		}

		return b
	}
	le := binary.LittleEndian

	first := read(0, 1)
	if le.Uint16(first[510:]) != 0xaa55 || first[0] != 'b' || first[439] != 'b' || !bytes.Equal(first[0x66:0x68], []byte{0x90, 0x90}) {
		t.Errorf("the first sector has no program: %x", first)
	}

	loader := read(le.Uint64(first[0x5c:]), 1)

	got := append(loader[:500:500], core[500:512]...)
	got = append(got, read(le.Uint64(loader[500:]), int(le.Uint16(loader[508:])))...)

	if le.Uint16(loader[510:]) != 0x820 || !bytes.Equal(got[:len(core)], core) || len(got) != 201*512 {
		t.Errorf("the core has %d bytes, and is not the same", len(got))
	}

	table, err := gpt.Read(disk, size, 512)
	if err != nil || table.Repair != "" {
		t.Errorf("%v, %s", err, table.Repair)
	}

	if p, ok := table.Find(layout.PartitionMeta); !ok || p.Number != 4 {
		t.Errorf("got META %+v, %t", p, ok)
	}
}

// TestBadGRUB has programs that a BIOS could not start.
func TestBadGRUB(t *testing.T) {
	boot, core := programs(5000)
	torn := Bytes(core)
	torn.SHA256 = strings.Repeat("0", 64)

	for name, tt := range map[string]struct {
		grub GRUB
		want string
	}{
		"no signature": {GRUB{Bytes(make([]byte, 512)), Bytes(core)}, "the program for the first sector of the disk is none"},
		"a short one":  {GRUB{Bytes(boot[2:]), Bytes(core)}, "the program for the first sector of the disk is none"},
		"a long one":   {GRUB{Bytes(append(boot, 0)), Bytes(core)}, "has 513 bytes, and there is room for 512"},
		"no core":      {GRUB{Bytes(boot), Bytes(boot)}, "its core has 512 bytes"},
		"a large core": {GRUB{Bytes(boot), Bytes(make([]byte, 0x78001))}, "has 491521 bytes, and there is room for 491520"},
		"no list":      {GRUB{Bytes(boot), Bytes(make([]byte, 5000))}, "its core has no list of sectors"},
		"damaged":      {GRUB{Bytes(boot), torn}, "it is damaged"},
	} {
		if _, _, err := tt.grub.place(2048); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}

	// A program that cannot be placed is found before the disk is written to.
	const size = 300 << 20

	plan, err := For(Disk{Name: "disk", Size: size, SectorSize: 512}, Request{Firmware: BIOS, EFISize: 36 << 20, BootSize: 36 << 20, Image: true})
	if err != nil {
		t.Fatal(err)
	}

	plan.Fresh = false
	disk := powercut.New(size)

	err = Write(t.Context(), disk, plan, Content{GRUB: &GRUB{Bytes(boot), Bytes(make([]byte, 5000))}}, nil)
	if err == nil || err.Error() != "install to disk: GRUB: its core has no list of sectors" || disk.Writes() > 0 {
		t.Errorf("got %v after %d writes", err, disk.Writes())
	}

	if _, err := For(Disk{Name: "/dev/sda", Size: 1 << 40, SectorSize: 4096}, Request{Firmware: BIOS}); err == nil ||
		!strings.Contains(err.Error(), "its sectors have 4096 bytes, and a BIOS starts from disks whose sectors have 512") {
		t.Errorf("got %v", err)
	}
}

func FuzzGRUB(f *testing.F) {
	boot, core := programs(5000)
	f.Add(boot, core, uint64(2048))
	f.Add(core, boot, uint64(1<<63))

	f.Fuzz(func(t *testing.T, boot, core []byte, first uint64) {
		code, placed, err := placed(boot, core, first)
		if err == nil && (len(code) != 440 || len(placed)%512 != 0 || len(placed) < len(core) || len(placed) > maxCore+511) {
			t.Errorf("got %d and %d bytes", len(code), len(placed))
		}
	})
}
