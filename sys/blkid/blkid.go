// SPDX-License-Identifier: Apache-2.0

// Package blkid identifies the content of a disk or a partition by the signatures of file systems and other structures: xfs,
// ext2/3/4, btrfs, vfat, squashfs, iso9660, udf, luks, swap and GUID partition tables. It reads a few sectors and trusts nothing: with a field
// out of range the signature does not count.
//
// It knows the formats that this system creates or finds, which are fewer than those of libblkid. Call Blank or Unformatted before writing to
// a device that it does not recognise.
package blkid

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/seed-59268b81/talos/sys/gpt"
)

// Names of the formats.
const (
	XFS      = "xfs"
	EXT4     = "ext4"
	Btrfs    = "btrfs"
	VFAT     = "vfat"
	Squashfs = "squashfs"
	ISO9660  = "iso9660"
	UDF      = "udf"
	LUKS     = "luks"
	Swap     = "swap"
	GPT      = "gpt"
)

// Info is what was found. The zero Info means that nothing was recognised.
type Info struct {
	Name  string
	Label string
	UUID  string
	// Size is the size in bytes in the structure, 0 if it has none.
	Size uint64
	// BlockSize is that of the file system, SectorSize that of its device; 0 if the structure has none.
	BlockSize, SectorSize uint32
	// Table is the partition table of a GPT.
	Table *gpt.Table
}

// probe looks for one structure; it returns nil without an error if there is none.
type probe func(image) (*Info, error)

// A disk of installation media has a GPT and an iso9660 file system: the table comes first. A CD with both iso9660 and UDF is the former,
// whose label is known.
var probes = []probe{probeGPT, probeXFS, probeLUKS, probeSquashfs, probeExt, probeBtrfs, probeISO, probeUDF, probeSwap, probeVFAT}

// Probe identifies the content of a device with a size in bytes and a sector size. The only errors are those of reads.
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

// EndSize is how much of each end of a device has the signatures of file systems, arrays and partition tables.
const EndSize = 1 << 20

// Blank reports whether both ends of a device are zero, so that nothing has been put on it. It is for devices that others may have used: not all
// formats are known, and some have nothing at the start.
func Blank(r io.ReaderAt, size uint64) (bool, error) {
	i := image{r: r, size: size}
	n := min(size, EndSize)

	for _, offset := range []uint64{0, size - n} {
		b, err := i.at(offset, int(n))
		if err != nil {
			return false, fmt.Errorf("check whether the device is blank: %w", err)
		}

		if len(bytes.Trim(b, "\x00")) > 0 {
			return false, nil
		}
	}

	return true, nil
}

// startSize is how many bytes at the start every mkfs writes to before it ends.
const startSize = 64 << 10

// Unformatted reports whether the start of a device is empty, or has only what an interrupted mkfs left. It is for partitions that this system has
// created, and whose ends it has zeroed then. A partition that is neither unformatted nor recognised may hold a user's data.
func Unformatted(r io.ReaderAt, size uint64) (bool, error) {
	b, err := image{r: r, size: size}.at(0, int(min(size, startSize)))
	if err != nil {
		return false, fmt.Errorf("check whether the device is unformatted: %w", err)
	}

	return xfsInProgress(b) || xfsRemains(b), nil
}

// image is a device with its sizes.
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
