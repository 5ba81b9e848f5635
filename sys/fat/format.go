// SPDX-License-Identifier: Apache-2.0

package fat

import (
	"fmt"
	"io"
	"time"
)

// Device is a partition or a file.
type Device interface {
	io.ReaderAt
	io.WriterAt
	// Sync returns when everything written is on the medium.
	Sync() error
}

// Options of a new file system.
type Options struct {
	// Size and SectorSize are those of the partition in bytes, and Offset is where it begins on its disk.
	Size, SectorSize, Offset uint64
	// Label has up to 11 capital letters and digits.
	Label  string
	Serial uint32
	// Time is that of everything in the file system.
	Time time.Time
}

// Format makes an empty file system and opens it. A power cut during Format leaves no file system.
func Format(d Device, o Options) (*FS, error) {
	g, err := plan(o.Size, o.SectorSize)
	if err == nil && len(o.Label) > 11 {
		err = fmt.Errorf("label %q has more than 11 characters", o.Label)
	}

	if err != nil {
		return nil, fmt.Errorf("make FAT32: %w", err)
	}

	table := make([]byte, g.table*g.sector)
	le.PutUint32(table, 0x0ffffff8)
	le.PutUint32(table[4:], endOfChain)
	le.PutUint32(table[4*rootCluster:], endOfChain)

	root := make([]byte, g.cluster)
	if o.Label != "" {
		copy(root, fmt.Sprintf("%-11s", o.Label))
		root[11] = attrLabel
		putTime(root, o.Time)
	}

	boot := bootSector(g, o)
	info := infoOf(g)
	w := writer{device: d}

	// Without a boot sector there is no file system.
	w.write(make([]byte, g.sector*g.reserved), 0)
	w.flush()

	for i := range g.copies {
		w.write(table, (g.reserved+i*g.table)*g.sector)
	}

	w.write(root, g.at(rootCluster))
	w.write(info, infoSector*g.sector)
	w.write(info, (backupSector+infoSector)*g.sector)
	w.flush()
	w.write(boot, backupSector*g.sector)
	w.write(boot, 0)
	w.flush()

	if w.err != nil {
		return nil, fmt.Errorf("make FAT32: %w", w.err)
	}

	return Open(d, int64(o.Size), o.Time)
}

func bootSector(g geometry, o Options) []byte {
	b := make([]byte, g.sector)

	copy(b, "\xeb\x58\x90TALOS   ")
	le.PutUint16(b[11:], uint16(g.sector))
	b[13] = byte(g.perCluster())
	le.PutUint16(b[14:], uint16(g.reserved))
	b[16] = copies
	b[21] = 0xf8 // a fixed disk
	le.PutUint16(b[24:], 32)
	le.PutUint16(b[26:], 64)
	le.PutUint32(b[28:], uint32(o.Offset/o.SectorSize))
	le.PutUint32(b[32:], uint32(g.total))
	le.PutUint32(b[36:], uint32(g.table))
	le.PutUint32(b[44:], g.root)
	le.PutUint16(b[48:], infoSector)
	le.PutUint16(b[50:], backupSector)
	b[64], b[66] = 0x80, 0x29
	le.PutUint32(b[67:], o.Serial)
	copy(b[71:], fmt.Sprintf("%-11s", label(o.Label)))
	copy(b[82:], "FAT32   ")
	b[510], b[511] = 0x55, 0xaa

	return b
}

func label(name string) string {
	if name == "" {
		return "NO NAME"
	}

	return name
}

// infoOf returns the sector with hints, which are all unknown: a hint that a power cut leaves behind would be wrong.
func infoOf(g geometry) []byte {
	b := make([]byte, g.sector)

	copy(b, "RRaA")
	copy(b[484:], "rrAa\xff\xff\xff\xff\xff\xff\xff\xff")
	b[510], b[511] = 0x55, 0xaa

	return b
}

// writer keeps the first error of several writes.
type writer struct {
	device Device
	err    error
}

func (w *writer) write(b []byte, offset int64) {
	if w.err != nil {
		return
	}

	if _, err := w.device.WriteAt(b, offset); err != nil {
		w.err = fmt.Errorf("write %d bytes at %d: %w", len(b), offset, err)
	}
}

func (w *writer) flush() {
	if w.err != nil {
		return
	}

	if err := w.device.Sync(); err != nil {
		w.err = fmt.Errorf("flush: %w", err)
	}
}

// putTime sets the times of an entry, in UTC. Years before 1980 do not exist.
func putTime(entry []byte, t time.Time) {
	t = t.UTC()
	day := uint16(1<<5 | 1)
	clock := uint16(0)

	if t.Year() >= 1980 && t.Year() < 2108 {
		day = uint16(t.Year()-1980)<<9 | uint16(t.Month())<<5 | uint16(t.Day())
		clock = uint16(t.Hour())<<11 | uint16(t.Minute())<<5 | uint16(t.Second()/2)
	}

	le.PutUint16(entry[14:], clock)
	le.PutUint16(entry[16:], day)
	le.PutUint16(entry[18:], day)
	le.PutUint16(entry[22:], clock)
	le.PutUint16(entry[24:], day)
}
