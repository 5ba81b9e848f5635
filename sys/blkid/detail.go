// SPDX-License-Identifier: Apache-2.0

package blkid

import (
	"encoding/binary"
	"fmt"
)

// The details of each kind; offsets are those of the superblocks in the kernel's headers. A detail function
// returns false when the signature turns out to be another's.

func (r reader) le16(o int64) uint16 { return binary.LittleEndian.Uint16(r.bytes(o, 2)) }
func (r reader) le32(o int64) uint32 { return binary.LittleEndian.Uint32(r.bytes(o, 4)) }
func (r reader) le64(o int64) uint64 { return binary.LittleEndian.Uint64(r.bytes(o, 8)) }
func (r reader) be16(o int64) uint16 { return binary.BigEndian.Uint16(r.bytes(o, 2)) }
func (r reader) be32(o int64) uint32 { return binary.BigEndian.Uint32(r.bytes(o, 4)) }
func (r reader) be64(o int64) uint64 { return binary.BigEndian.Uint64(r.bytes(o, 8)) }

func xfsDetail(r reader, res *Result) bool {
	const inProgress = 126 // sb_inprogress: mkfs has not finished

	if r.bytes(inProgress, 1)[0] == 1 {
		return false
	}

	res.UUID, res.Label = r.uuid(32), r.label(108, 12)
	res.BlockSize, res.FilesystemBlockSize = uint32(r.be16(102)), r.be32(4)
	res.ProbedSize = r.be64(8) * uint64(res.FilesystemBlockSize)

	return true
}

func extDetail(r reader, res *Result) bool {
	const (
		super     = 1024
		journal   = 0x4  // of the compatible features
		modern    = 0x40 // extents, of the incompatible ones
		modernRO  = 0x8  // huge files, of the read-only compatible ones
		maxShift  = 6
		baseBlock = 1024
	)

	shift := r.le32(super + 24)
	if shift > maxShift {
		return false // two bytes are a weak signature
	}

	switch {
	case r.le32(super+96)&modern != 0 || r.le32(super+100)&modernRO != 0:
		res.Name = Ext4
	case r.le32(super+92)&journal != 0:
		res.Name = Ext3
	default:
		res.Name = Ext2
	}

	res.UUID, res.Label = r.uuid(super+104), r.label(super+120, 16)
	res.BlockSize = baseBlock << shift
	res.FilesystemBlockSize = res.BlockSize
	res.ProbedSize = uint64(r.le32(super+4)) * uint64(res.BlockSize)

	return true
}

func vfatDetail(r reader, res *Result) bool {
	serial, label := int64(0), int64(0)

	switch {
	case r.text(82, 8) == "FAT32   ":
		serial, label = 67, 71
	case r.text(54, 8) == "FAT16   ", r.text(54, 8) == "FAT12   ", r.text(54, 8) == "FAT     ":
		serial, label = 39, 43
	default:
		return false // 55AA alone is any boot sector
	}

	id := r.le32(serial)
	res.UUID = fmt.Sprintf("%04X-%04X", id>>16, id&0xffff)

	if res.Label = r.label(label, 11); res.Label == "NO NAME" {
		res.Label = ""
	}

	res.BlockSize = uint32(r.le16(11))
	res.FilesystemBlockSize = res.BlockSize * uint32(r.bytes(13, 1)[0])

	sectors := uint64(r.le16(19))
	if sectors == 0 {
		sectors = uint64(r.le32(32))
	}

	res.ProbedSize = sectors * uint64(res.BlockSize)

	return true
}

func squashfsDetail(r reader, res *Result) bool {
	res.FilesystemBlockSize = r.le32(12)
	res.BlockSize = 1024
	res.ProbedSize = r.le64(40)

	return true
}

func luksDetail(r reader, res *Result) bool {
	res.UUID = r.label(168, 40)

	if r.be16(6) == 2 {
		res.Label = r.label(24, 48)
	}

	return true
}

func swapDetail(r reader, res *Result) bool {
	const header = 1024

	res.UUID, res.Label = r.uuid(header+12), r.label(header+28, 16)
	res.BlockSize = 4096
	res.ProbedSize = uint64(r.le32(header+4)) * 4096

	return true
}

func isoDetail(r reader, res *Result) bool {
	const volume = 32768

	res.Label = r.label(volume+40, 32)
	res.BlockSize = 2048
	res.FilesystemBlockSize = 2048
	res.ProbedSize = uint64(r.le32(volume+80)) * 2048

	// The time of creation, as digits, is what others show as the identifier.
	if d := r.label(volume+813, 16); len(d) == 16 {
		res.UUID = fmt.Sprintf("%s-%s-%s-%s-%s-%s-%s", d[:4], d[4:6], d[6:8], d[8:10], d[10:12], d[12:14], d[14:16])
	}

	return true
}

func btrfsDetail(r reader, res *Result) bool {
	const super = 65536

	res.UUID, res.Label = r.uuid(super+32), r.label(super+299, 256)
	res.BlockSize, res.FilesystemBlockSize = r.le32(super+144), r.le32(super+148)
	res.ProbedSize = r.le64(super + 112)

	return true
}
