// SPDX-License-Identifier: Apache-2.0

package blkid

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
)

var (
	be = binary.BigEndian
	le = binary.LittleEndian
)

func probeXFS(i image) (*Info, error) {
	b, err := i.at(0, xfsSuper)
	if err != nil || !isXFS(b) || xfsInProgress(b) {
		return nil, err
	}

	block, sector := be.Uint32(b[4:]), be.Uint16(b[102:])
	if !powerWithin(block, 512, 65536) || !powerWithin(uint32(sector), 512, 32768) {
		return nil, nil
	}

	high, size := bits.Mul64(be.Uint64(b[8:]), uint64(block))
	if high != 0 {
		return nil, nil
	}

	return &Info{
		Name: XFS, Label: xfsLabel(b), UUID: uuid(b[32:48]),
		Size: size, BlockSize: block, SectorSize: uint32(sector),
	}, nil
}

func probeExt(i image) (*Info, error) {
	b, err := i.at(1024, 1024)
	if err != nil || b == nil || le.Uint16(b[56:]) != 0xef53 {
		return nil, err
	}

	shift := le.Uint32(b[24:])
	if shift > 6 {
		return nil, nil
	}

	blocks := uint64(le.Uint32(b[4:]))
	if le.Uint32(b[96:])&0x80 != 0 { // 64bit
		blocks |= uint64(le.Uint32(b[336:])) << 32
	}

	high, size := bits.Mul64(blocks, 1024<<shift)
	if high != 0 {
		return nil, nil
	}

	// ext2 and ext3 are mounted by the same driver, under this name.
	return &Info{Name: EXT4, Label: text(b[120:136]), UUID: uuid(b[104:120]), Size: size, BlockSize: 1024 << shift}, nil
}

// probeBtrfs looks for the first superblock, which comes after all that is at the start of other file systems.
func probeBtrfs(i image) (*Info, error) {
	b, err := i.at(64<<10, 4096)
	if err != nil || b == nil || string(b[64:72]) != "_BHRfS_M" {
		return nil, err
	}

	return &Info{
		Name: Btrfs, Label: text(b[299:555]), UUID: uuid(b[32:48]),
		Size: le.Uint64(b[112:]), BlockSize: le.Uint32(b[144:]),
	}, nil
}

func probeSquashfs(i image) (*Info, error) {
	b, err := i.at(0, 96)
	if err != nil || b == nil || string(b[:4]) != "hsqs" || le.Uint16(b[28:]) != 4 {
		return nil, err
	}

	return &Info{Name: Squashfs, Size: le.Uint64(b[40:]), BlockSize: le.Uint32(b[12:])}, nil
}

func probeISO(i image) (*Info, error) {
	b, err := i.at(32768, 2048)
	if err != nil || b == nil || string(b[1:6]) != "CD001" || b[0] != 1 {
		return nil, err
	}

	block := le.Uint16(b[128:])

	// The UUID is the creation date, as in other tools.
	d := b[813:829]

	var id string

	if digits := string(d); strings.Trim(digits, "0123456789") == "" && digits != "0000000000000000" {
		id = fmt.Sprintf("%s-%s-%s-%s-%s-%s-%s", d[:4], d[4:6], d[6:8], d[8:10], d[10:12], d[12:14], d[14:16])
	}

	return &Info{
		Name: ISO9660, Label: text(b[40:72]), UUID: id,
		Size: uint64(le.Uint32(b[80:])) * uint64(block), BlockSize: uint32(block),
	}, nil
}

// probeUDF looks for the descriptor of UDF in the volume recognition sequence (ECMA-167, part 2, section 8). The label is not read.
func probeUDF(i image) (*Info, error) {
	const start, block, most = 32768, 2048, 16

	for n := range uint64(most) {
		b, err := i.at(start+n*block, 6)
		if err != nil || b == nil {
			return nil, err
		}

		switch string(b[1:]) {
		case "NSR02", "NSR03":
			return &Info{Name: UDF}, nil
		case "BEA01", "BOOT2", "CD001", "CDW02":
		default:
			return nil, nil
		}
	}

	return nil, nil
}

func probeVFAT(i image) (*Info, error) {
	b, err := i.at(0, 512)
	if err != nil || b == nil || b[510] != 0x55 || b[511] != 0xaa {
		return nil, err
	}

	sector, cluster, fats := le.Uint16(b[11:]), b[13], b[16]
	if !powerWithin(uint32(sector), 512, 4096) || !powerWithin(uint32(cluster), 1, 128) || fats == 0 || fats > 2 ||
		le.Uint16(b[14:]) == 0 {
		return nil, nil
	}

	total := uint64(le.Uint16(b[19:]))
	if total == 0 {
		total = uint64(le.Uint32(b[32:]))
	}

	// FAT32 has its extended fields further back.
	extended := b[36:]
	if le.Uint16(b[22:]) == 0 {
		extended = b[64:]
	}

	if extended[2] != 0x29 || !bytes.HasPrefix(extended[18:], []byte("FAT")) {
		return nil, nil
	}

	label := text(extended[7:18])
	if label == "NO NAME" {
		label = ""
	}

	return &Info{
		Name: VFAT, Label: label, UUID: fmt.Sprintf("%04X-%04X", le.Uint16(extended[5:]), le.Uint16(extended[3:])),
		Size: total * uint64(sector), BlockSize: uint32(sector) * uint32(cluster), SectorSize: uint32(sector),
	}, nil
}

func powerWithin(n, least, most uint32) bool {
	return n >= least && n <= most && bits.OnesCount32(n) == 1
}
