// SPDX-License-Identifier: Apache-2.0

package blkid

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// Unfinished is the label with which a file system is made. mkfs.xfs flushes only once, at its end, so after a power cut any of its writes may be
// there, such as a whole superblock and not what it refers to. Finish gives the file system its own label when all of it is on the disk.
const Unfinished = "unfinished"

// Offsets in the superblock of XFS (XFS Algorithms & Data Structures, "Superblocks").
const (
	xfsSuper      = 512
	xfsAGBlocks   = 84
	xfsAGCount    = 88
	xfsVersion    = 100
	xfsLabelAt    = 108
	xfsInprogress = 126
	xfsCRC        = 224

	xfsLabelSize = 12
)

func isXFS(b []byte) bool { return len(b) >= xfsSuper && string(b[:4]) == "XFSB" }

func xfsLabel(b []byte) string { return text(b[xfsLabelAt:][:xfsLabelSize]) }

// xfsInProgress reports whether mkfs of the file system was interrupted: mkfs clears the mark last, and Finish the label.
func xfsInProgress(b []byte) bool {
	return isXFS(b) && (b[xfsInprogress] != 0 || xfsLabel(b) == Unfinished)
}

// xfsMagics are those of what mkfs writes to the start of a device beside the superblock: headers of the allocation group, and roots of trees.
var xfsMagics = []string{"XAGF", "XAGI", xfsFreeList, "AB3B", "AB3C", "IAB3", "FIB3", "RMB3", "R3FC"}

const (
	// xfsFreeList is the header of the list of free blocks, which fills its sector, one of up to xfsMaxSector bytes. Its unused entries are all ones.
	xfsFreeList  = "XAFL"
	xfsMaxSector = 4096
)

// xfsRemains reports whether the start of a device has nothing but what an interrupted mkfs left without the superblock.
func xfsRemains(b []byte) bool {
	listEnd := 0

	for at := 0; at < len(b); at += xfsSuper {
		s := b[at:min(at+xfsSuper, len(b))]

		switch {
		case len(bytes.Trim(s, "\x00")) == 0, at < listEnd && len(bytes.Trim(s, "\xff")) == 0:
		case len(s) < xfsSuper || !slices.Contains(xfsMagics, string(s[:4])):
			return false
		case string(s[:4]) == xfsFreeList:
			listEnd = (at/xfsMaxSector + 1) * xfsMaxSector
		}
	}

	return true
}

// Device is a device whose file system is finished.
type Device interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
}

// Finish gives an XFS file system with the label Unfinished its own one. What was written before is made durable first, and the first superblock,
// which is in one sector, is written last.
func Finish(d Device, label string) error {
	b := make([]byte, xfsSuper)
	if _, err := d.ReadAt(b, 0); err != nil {
		return fmt.Errorf("read the superblock: %w", err)
	}

	size := int(be.Uint16(b[102:]))

	switch {
	case !isXFS(b) || b[xfsInprogress] != 0 || size < xfsSuper || be.Uint16(b[xfsVersion:])&0xf != 5:
		return errors.New("the superblock is not that of a new file system")
	case len(label) > xfsLabelSize:
		return fmt.Errorf("label %q has more than %d bytes", label, xfsLabelSize)
	}

	group := int64(be.Uint32(b[4:])) * int64(be.Uint32(b[xfsAGBlocks:]))

	for n := int64(be.Uint32(b[xfsAGCount:])) - 1; n > 0; n-- {
		if err := setXFSLabel(d, n*group, size, label); err != nil {
			return fmt.Errorf("superblock %d: %w", n, err)
		}
	}

	if err := d.Sync(); err != nil {
		return fmt.Errorf("flush: %w", err)
	}

	if err := setXFSLabel(d, 0, size, label); err != nil {
		return fmt.Errorf("first superblock: %w", err)
	}

	return d.Sync()
}

func setXFSLabel(d Device, at int64, size int, label string) error {
	b := make([]byte, size)
	if _, err := d.ReadAt(b, at); err != nil {
		return err
	}

	if !isXFS(b) {
		return errors.New("it is not there")
	}

	clear(b[xfsLabelAt:][:xfsLabelSize])
	copy(b[xfsLabelAt:], label)
	clear(b[xfsCRC:][:4])
	le.PutUint32(b[xfsCRC:], crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))

	_, err := d.WriteAt(b, at)

	return err
}
