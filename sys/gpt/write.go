// SPDX-License-Identifier: Apache-2.0

package gpt

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"unicode/utf16"
)

// Device is a disk or an image file.
type Device interface {
	io.WriterAt
	// Sync returns when everything written is on the medium.
	Sync() error
}

// Write writes the table: backup, flush, primary, flush. The protective MBR is written with the primary; boot code in sector 0 is not
// changed.
func (t *Table) Write(d Device) error {
	if err := t.check(); err != nil {
		return err
	}

	entries := make([]byte, entryCount*entrySize)
	for _, p := range t.Partitions {
		p.encode(entries[(p.Number-1)*entrySize:])
	}

	last := t.Sectors - 1

	for _, c := range []struct {
		name                       string
		self, other, entriesSector uint64
	}{
		{"backup", last, 1, last - t.entrySectors()},
		{"primary", 1, last, 2},
	} {
		if _, err := d.WriteAt(entries, int64(c.entriesSector*t.SectorSize)); err != nil {
			return fmt.Errorf("write partition table: %s entries: %w", c.name, err)
		}

		if _, err := d.WriteAt(t.header(c.self, c.other, c.entriesSector, entries), int64(c.self*t.SectorSize)); err != nil {
			return fmt.Errorf("write partition table: %s header: %w", c.name, err)
		}

		if c.self == 1 {
			// Only the partition area of sector 0: boot code before it stays.
			if _, err := d.WriteAt(t.protectiveMBR(), mbrPartitions); err != nil {
				return fmt.Errorf("write partition table: protective MBR: %w", err)
			}
		}

		if err := d.Sync(); err != nil {
			return fmt.Errorf("write partition table: flush %s: %w", c.name, err)
		}
	}

	return nil
}

func (p Partition) encode(e []byte) {
	put(e, p.Type)
	put(e[16:], p.ID)
	binary.LittleEndian.PutUint64(e[32:], p.First)
	binary.LittleEndian.PutUint64(e[40:], p.Last)
	binary.LittleEndian.PutUint64(e[48:], p.Attributes)

	for i, u := range utf16.Encode([]rune(p.Label)) {
		binary.LittleEndian.PutUint16(e[56+2*i:], u)
	}
}

func (t *Table) header(self, other, entriesSector uint64, entries []byte) []byte {
	h := make([]byte, t.SectorSize)
	le := binary.LittleEndian

	copy(h, signature)
	le.PutUint32(h[8:], revision)
	le.PutUint32(h[12:], headerSize)
	le.PutUint64(h[24:], self)
	le.PutUint64(h[32:], other)
	le.PutUint64(h[40:], t.FirstUsable())
	le.PutUint64(h[48:], t.LastUsable())
	put(h[56:], t.ID)
	le.PutUint64(h[72:], entriesSector)
	le.PutUint32(h[80:], entryCount)
	le.PutUint32(h[84:], entrySize)
	le.PutUint32(h[88:], crc32.ChecksumIEEE(entries))
	le.PutUint32(h[16:], crc32.ChecksumIEEE(h[:headerSize]))

	return h
}

// mbrPartitions is the offset of the four partition entries in sector 0.
const mbrPartitions = 446

// protectiveMBR returns one entry of type EE over the whole disk, so that old tools treat the disk as full.
func (t *Table) protectiveMBR() []byte {
	b := make([]byte, 512-mbrPartitions)

	copy(b, []byte{0, 0, 2, 0, 0xee, 0xff, 0xff, 0xff, 1, 0, 0, 0})
	binary.LittleEndian.PutUint32(b[12:], uint32(min(t.Sectors-1, 0xffffffff)))
	b[64], b[65] = 0x55, 0xaa

	return b
}
