// SPDX-License-Identifier: Apache-2.0

// Package blkid tells what a disk or partition holds by the signatures that file systems and others leave
// at known places. It reads a few sectors and never writes.
//
// A signature counts as found even where the rest looks odd: who asks may be about to format, and must not
// take a damaged file system for none. The one exception is an XFS that mkfs has marked as unfinished,
// which holds nothing yet.
package blkid

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seed-59268b81/talos/sys/gpt"
)

// Names of what is found.
const (
	GPT      = "gpt"
	XFS      = "xfs"
	Ext4     = "ext4"
	Ext3     = "ext3"
	Ext2     = "ext2"
	VFAT     = "vfat"
	Squashfs = "squashfs"
	ISO9660  = "iso9660"
	Btrfs    = "btrfs"
	LUKS     = "luks"
	Swap     = "swap"
	LVM      = "lvm2-pv"
	MDRaid   = "mdraid"
	Meta     = "talosmeta"
)

// Result of a probe; an empty Name is nothing known.
type Result struct {
	Name  string
	UUID  string
	Label string
	// BlockSize is the least unit of reading, FilesystemBlockSize that of allocation.
	BlockSize           uint32
	FilesystemBlockSize uint32
	// ProbedSize is how many bytes the contents say they take.
	ProbedSize uint64
	// Table of a disk with partitions.
	Table *gpt.Table
}

// signature is how one kind is recognised: bytes at an offset, then details.
type signature struct {
	name   string
	offset int64
	magic  string
	detail func(r reader, res *Result) bool
}

// The order matters where one medium can carry two signatures: containers before what may be left of an
// older file system behind their header.
var signatures = []signature{
	{LUKS, 0, "LUKS\xba\xbe", luksDetail},
	{LVM, 512 + 24, "LVM2 001", nil},
	{MDRaid, 4096, "\xfc\x4e\x2b\xa9", nil},
	{Meta, 0, "TALOSADV", nil},
	{XFS, 0, "XFSB", xfsDetail},
	{Squashfs, 0, "hsqs", squashfsDetail},
	{Btrfs, 65536 + 64, "_BHRfS_M", btrfsDetail},
	{Ext4, 1024 + 56, "\x53\xef", extDetail},
	{Swap, 4096 - 10, "SWAPSPACE2", swapDetail},
	{ISO9660, 32768 + 1, "CD001", isoDetail},
	{VFAT, 510, "\x55\xaa", vfatDetail},
}

// Probe looks at a medium of size bytes.
func Probe(r io.ReaderAt, size, sectorSize uint64) (Result, error) {
	table, err := gpt.Read(r, size, sectorSize)
	if err == nil {
		return Result{Name: GPT, UUID: table.ID.String(), BlockSize: uint32(sectorSize), ProbedSize: size, Table: table}, nil
	}

	var cause error

	in := reader{r: r, err: &cause}

	for _, s := range signatures {
		if in.text(s.offset, len(s.magic)) != s.magic {
			continue
		}

		res := Result{Name: s.name}
		if s.detail == nil || s.detail(in, &res) {
			return res, nil
		}
	}

	if cause != nil {
		return Result{}, fmt.Errorf("probe: %w", cause)
	}

	return Result{}, nil
}

// reader reads fields. What is behind the end of the medium reads as zeros; another error is kept.
type reader struct {
	r   io.ReaderAt
	err *error
}

func (r reader) bytes(offset int64, n int) []byte {
	b := make([]byte, n)

	got, err := r.r.ReadAt(b, offset)
	if err != nil && !errors.Is(err, io.EOF) && *r.err == nil {
		*r.err = err
	}

	clear(b[max(got, 0):])

	return b
}

func (r reader) text(offset int64, n int) string { return string(r.bytes(offset, n)) }

// label reads text that is padded with zeros or blanks.
func (r reader) label(offset int64, n int) string {
	s, _, _ := strings.Cut(r.text(offset, n), "\x00")

	return strings.ToValidUTF8(strings.TrimRight(s, " "), "?")
}

func (r reader) uuid(offset int64) string { return gpt.GUID(r.bytes(offset, 16)).String() }
