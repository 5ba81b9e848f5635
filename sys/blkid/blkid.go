// SPDX-License-Identifier: Apache-2.0

// Package blkid tells what is on a disk or a partition by the signatures of file systems and other structures:
// xfs, ext2/3/4, vfat, squashfs, iso9660, luks, swap and GUID partition tables. It reads a few sectors and believes
// nothing: a field out of its range makes the signature not count.
//
// It knows what this system makes or meets, not what libblkid knows; on a device that it does not recognise, look at
// Blank before anything is written.
package blkid

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/seed-59268b81/talos/sys/gpt"
)

// Names of what is found.
const (
	XFS      = "xfs"
	EXT4     = "ext4"
	VFAT     = "vfat"
	Squashfs = "squashfs"
	ISO9660  = "iso9660"
	LUKS     = "luks"
	Swap     = "swap"
	GPT      = "gpt"
)

// Info is what was found. The zero Info is nothing known.
type Info struct {
	Name  string
	Label string
	UUID  string
	// Size in bytes that the structure says it has, 0 if it does not say.
	Size uint64
	// BlockSize of the file system, SectorSize of what it takes for its device; 0 if it does not say.
	BlockSize, SectorSize uint32
	// Table is the partition table of a GPT.
	Table *gpt.Table
}

// probe looks for one structure; a nil Info without error is none.
type probe func(image) (*Info, error)

// A whole disk can have a GPT and, on installation media, an iso9660 file system: the table wins.
var probes = []probe{probeGPT, probeXFS, probeLUKS, probeSquashfs, probeExt, probeISO, probeSwap, probeVFAT}

// Probe looks at a device of size bytes with the sector size. An error is one of reading, never of what is there.
func Probe(r io.ReaderAt, size, sectorSize uint64) (Info, error) {
	for _, p := range probes {
		info, err := p(image{r, size, sectorSize})
		if err != nil {
			return Info{}, fmt.Errorf("look for signatures: %w", err)
		}

		if info != nil {
			return *info, nil
		}
	}

	return Info{}, nil
}

// blankSize is how much of the start must be zero: mkfs of every kind writes there before it is done.
const blankSize = 64 << 10

// Blank tells a device on which nothing is, or only what a file system's maker left behind when it was cut off. Such
// a device may be formatted; one that is not blank and not recognised holds somebody's data.
func Blank(r io.ReaderAt, size uint64) (bool, error) {
	b, err := image{r: r, size: size}.at(0, int(min(size, blankSize)))
	if err != nil {
		return false, fmt.Errorf("look whether it is blank: %w", err)
	}

	return xfsInProgress(b) || len(bytes.Trim(b, "\x00")) == 0, nil
}

// image is the device being looked at.
type image struct {
	r                io.ReaderAt
	size, sectorSize uint64
}

// at reads n bytes; nil when the device ends before.
func (i image) at(offset uint64, n int) ([]byte, error) {
	if offset > i.size || uint64(n) > i.size-offset {
		return nil, nil
	}

	b := make([]byte, n)
	if _, err := i.r.ReadAt(b, int64(offset)); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %d bytes at %d: %w", n, offset, err)
	}

	return b, nil
}

// text is a padded string field.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}

	return string(bytes.ToValidUTF8(bytes.TrimRight(b, " "), []byte("?")))
}

// uuid is a UUID field in the order of its text.
func uuid(b []byte) string {
	if len(bytes.Trim(b, "\x00")) == 0 {
		return ""
	}

	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
