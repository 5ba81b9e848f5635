// SPDX-License-Identifier: Apache-2.0

package gpt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
)

// The layout on disk.
const (
	signature  = "EFI PART"
	revision   = 0x00010000
	headerSize = 92
	entrySize  = 128
	entryCount = 128
	// maxEntries is the most entries that are read of a table.
	maxEntries = 1024
)

// ErrNoTable is the error for a disk without any copy of a table.
var ErrNoTable = errors.New("no GUID partition table")

// Read reads the table of a disk with a size in bytes. It returns ErrNoTable if neither copy has the signature, and another error if both
// are damaged.
func Read(r io.ReaderAt, size, sectorSize uint64) (*Table, error) {
	t := &Table{SectorSize: sectorSize, Sectors: size / max(sectorSize, 1)}
	if err := t.check(); err != nil {
		return nil, err
	}

	primary, err1 := t.readCopy(r, 1)
	if err1 == nil {
		t.adopt(primary)

		switch {
		case primary.alternate != t.Sectors-1:
			t.Repair = "the disk has grown: the backup copy is not at its end"
		default:
			if backup, err := t.readCopy(r, t.Sectors-1); err != nil {
				t.Repair = fmt.Sprintf("backup copy: %v", err)
			} else if !slices.Equal(backup.parts, primary.parts) || backup.id != primary.id {
				t.Repair = "the backup copy differs from the primary"
			}
		}

		return t, nil
	}

	backup, err2 := t.readCopy(r, t.Sectors-1)
	if err2 == nil {
		t.adopt(backup)
		t.Repair = fmt.Sprintf("primary copy: %v", err1)

		return t, nil
	}

	if errors.Is(err1, ErrNoTable) && errors.Is(err2, ErrNoTable) {
		return nil, ErrNoTable
	}

	return nil, fmt.Errorf("partition table: primary copy: %w; backup copy: %w", err1, err2)
}

// headerCopy is the content of one copy.
type headerCopy struct {
	id        GUID
	alternate uint64
	parts     []Partition
}

func (t *Table) adopt(c headerCopy) { t.ID, t.Partitions = c.id, c.parts }

func (t *Table) readCopy(r io.ReaderAt, sector uint64) (headerCopy, error) {
	var c headerCopy

	h := make([]byte, t.SectorSize)
	if _, err := r.ReadAt(h, int64(sector*t.SectorSize)); err != nil {
		return c, fmt.Errorf("read sector %d: %w", sector, err)
	}

	if string(h[:8]) != signature {
		return c, ErrNoTable
	}

	le := binary.LittleEndian

	length := le.Uint32(h[12:])
	if length < headerSize || uint64(length) > t.SectorSize {
		return c, fmt.Errorf("header is %d bytes", length)
	}

	sum := le.Uint32(h[16:])
	le.PutUint32(h[16:], 0)

	if got := crc32.ChecksumIEEE(h[:length]); got != sum {
		return c, fmt.Errorf("header checksum is %08x, want %08x", got, sum)
	}

	if my := le.Uint64(h[24:]); my != sector {
		return c, fmt.Errorf("header says it is at sector %d, it is at %d", my, sector)
	}

	c.alternate, c.id = le.Uint64(h[32:]), getGUID(h[56:])

	count, size := le.Uint32(h[80:]), le.Uint32(h[84:])
	if size < entrySize || size > 4096 || size%8 != 0 || count == 0 || count > maxEntries {
		return c, fmt.Errorf("%d entries of %d bytes are not supported", count, size)
	}

	start := le.Uint64(h[72:])
	if start < 2 || start >= t.Sectors || uint64(count)*uint64(size) > (t.Sectors-start)*t.SectorSize {
		return c, fmt.Errorf("entries at sector %d are not on the disk", start)
	}

	entries := make([]byte, count*size)
	if _, err := r.ReadAt(entries, int64(start*t.SectorSize)); err != nil {
		return c, fmt.Errorf("read entries: %w", err)
	}

	if got, want := crc32.ChecksumIEEE(entries), le.Uint32(h[88:]); got != want {
		return c, fmt.Errorf("checksum of the entries is %08x, want %08x", got, want)
	}

	for n := range int(count) {
		if p, used := decodeEntry(n+1, entries[n*int(size):][:entrySize]); used {
			c.parts = append(c.parts, p)
		}
	}

	check := Table{SectorSize: t.SectorSize, Sectors: t.Sectors, Partitions: c.parts}

	return c, check.check()
}

func decodeEntry(number int, e []byte) (Partition, bool) {
	if bytes.Count(e[:16], []byte{0}) == 16 {
		return Partition{}, false
	}

	var name []uint16

	for i := 56; i < entrySize; i += 2 {
		u := binary.LittleEndian.Uint16(e[i:])
		if u == 0 {
			break
		}

		name = append(name, u)
	}

	return Partition{
		Number: number, Type: getGUID(e), ID: getGUID(e[16:]),
		First: binary.LittleEndian.Uint64(e[32:]), Last: binary.LittleEndian.Uint64(e[40:]),
		Attributes: binary.LittleEndian.Uint64(e[48:]),
		Label:      strings.ToValidUTF8(string(utf16.Decode(name)), "?"),
	}, true
}
