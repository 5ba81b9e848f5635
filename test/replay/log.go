// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// The format is that of the kernel's target dm-log-writes, which QEMU writes too (Documentation/admin-guide/device-mapper/log-writes.rst and
// struct log_write_entry in drivers/md/dm-log-writes.c). All is little endian. The first sector has the super block, and then each entry has
// a sector, which its data follows:
//
//	super block   magic (8), version (8), entries (8), sector size (4)
//	entry         first sector (8), sectors (8), flags (8), length of a mark's text (8); then that text
const (
	logMagic   = 0x6a736677736872
	logVersion = 1
	superSize  = 28
	entrySize  = 32
)

// Flags of an entry.
type Flags uint64

// The flags.
const (
	Flush Flags = 1 << iota
	FUA
	Discard
	Mark
	Metadata

	known = Flush | FUA | Discard | Mark | Metadata
)

// Entry is something that the disk was told. Offset and Length are in bytes.
type Entry struct {
	Offset, Length int64
	Flags          Flags
	// Data is where the log has what was written.
	Data int64
}

// writes reports whether the entry changes what is on the disk.
func (e Entry) writes() bool { return e.Length > 0 && e.Flags&Mark == 0 }

// Log is the content of a log without the data.
type Log struct {
	// SectorSize is in bytes.
	SectorSize int64
	Entries    []Entry
}

// maxEntries limits the memory for a log.
const maxEntries = 64 << 20

// ReadLog reads a log with a size in bytes. QEMU counts an entry at the next flush, so what comes after the last one is not there.
func ReadLog(r io.ReaderAt, size int64) (*Log, error) {
	head := make([]byte, superSize)
	if _, err := r.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("read log: super block: %w", err)
	}

	le := binary.LittleEndian
	count := le.Uint64(head[16:])
	l := &Log{SectorSize: int64(le.Uint32(head[24:]))}

	switch {
	case le.Uint64(head) != logMagic:
		return nil, errors.New("read log: it has an unknown magic")
	case le.Uint64(head[8:]) != logVersion:
		return nil, fmt.Errorf("read log: version %d is not known", le.Uint64(head[8:]))
	case l.SectorSize < sector || l.SectorSize > 4096 || l.SectorSize&(l.SectorSize-1) != 0:
		return nil, fmt.Errorf("read log: sectors of %d bytes are not supported", l.SectorSize)
	case count > maxEntries || int64(count) > size/l.SectorSize:
		return nil, fmt.Errorf("read log: %d entries do not fit", count)
	}

	at := l.SectorSize
	b := make([]byte, entrySize)

	for n := range count {
		if at > size-l.SectorSize {
			return nil, fmt.Errorf("read log: entry %d of %d is not there", n+1, count)
		}

		if _, err := r.ReadAt(b, at); err != nil {
			return nil, fmt.Errorf("read log: entry %d: %w", n+1, err)
		}

		e, next, err := l.entry(b, at, size)
		if err != nil {
			return nil, fmt.Errorf("read log: entry %d: %w", n+1, err)
		}

		l.Entries, at = append(l.Entries, e), next
	}

	return l, nil
}

// entry reads an entry, and returns where the next one is.
func (l *Log) entry(b []byte, at, size int64) (Entry, int64, error) {
	le := binary.LittleEndian
	first, count, flags := le.Uint64(b), le.Uint64(b[8:]), Flags(le.Uint64(b[16:]))

	if limit := uint64(math.MaxInt64 / l.SectorSize); first > limit || count > limit-first {
		return Entry{}, 0, fmt.Errorf("%d sectors at sector %d cannot be on a disk", count, first)
	}

	if flags&^known != 0 {
		return Entry{}, 0, fmt.Errorf("flags %#x are not known", uint64(flags))
	}

	e := Entry{int64(first) * l.SectorSize, int64(count) * l.SectorSize, flags, at + l.SectorSize}

	if flags&(Discard|Mark) != 0 {
		return e, e.Data, nil
	}

	if e.Length > size-e.Data {
		return Entry{}, 0, fmt.Errorf("%d bytes of data end after the log: %w", e.Length, io.ErrUnexpectedEOF)
	}

	return e, e.Data + e.Length, nil
}

// Flushes returns the number of flushes.
func (l *Log) Flushes() (n int) {
	for _, e := range l.Entries {
		if e.Flags&Flush != 0 {
			n++
		}
	}

	return n
}

// Written returns the number of bytes that were written.
func (l *Log) Written() (n int64) {
	for _, e := range l.Entries {
		if e.writes() && e.Flags&Discard == 0 {
			n += e.Length
		}
	}

	return n
}

// Encode returns the log as a file, for tests. data returns what an entry writes.
func (l *Log) Encode(data func(n int) []byte) []byte {
	le := binary.LittleEndian
	out := make([]byte, l.SectorSize)

	le.PutUint64(out, logMagic)
	le.PutUint64(out[8:], logVersion)
	le.PutUint64(out[16:], uint64(len(l.Entries)))
	le.PutUint32(out[24:], uint32(l.SectorSize))

	for i, e := range l.Entries {
		b := make([]byte, l.SectorSize)

		le.PutUint64(b, uint64(e.Offset/l.SectorSize))
		le.PutUint64(b[8:], uint64(e.Length/l.SectorSize))
		le.PutUint64(b[16:], uint64(e.Flags))

		out = append(out, b...)

		if e.Flags&(Discard|Mark) == 0 {
			out = append(out, bytes.Clone(data(i)[:e.Length])...)
		}
	}

	return out
}
