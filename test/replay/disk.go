// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"slices"
)

// sector is what a disk writes as a whole.
const sector = 512

// source is where the content of a sector is: from sector on, an offset in the log; below memory, in the memory of a state.
type source int64

const (
	// below is the source of a sector that a layer does not have.
	below source = 0
	zeros source = -1
	// anything is what a discarded sector may be.
	anything source = -2
	memory   source = -16
)

const mib = 1 << 20

// perChunk is the number of sectors of a chunk.
const perChunk = 8

// layer has the sources of sectors. Those in chunks are newer than those in ranges, of which the last one counts.
type layer struct {
	chunks map[int64]*[perChunk]source
	ranges []discarded
}

// discarded is a number of sectors that were discarded, which may be all of the disk.
type discarded struct {
	from, to int64
	source   source
}

func newLayer() *layer { return &layer{chunks: map[int64]*[perChunk]source{}} }

func (l *layer) set(n int64, s source) {
	c := l.chunks[n/perChunk]
	if c == nil {
		c = new([perChunk]source)
		l.chunks[n/perChunk] = c
	}

	c[n%perChunk] = s
}

// in returns the source of a sector, of which c is the chunk.
func (l *layer) in(c *[perChunk]source, n int64) source {
	if c != nil && c[n%perChunk] != below {
		return c[n%perChunk]
	}

	for i := len(l.ranges) - 1; i >= 0; i-- {
		if r := l.ranges[i]; n >= r.from && n < r.to {
			return r.source
		}
	}

	return below
}

// put adds the sectors of an entry from one to another. what is the source of a discarded one.
func (l *layer) put(e Entry, from, to int64, what source) {
	first := e.Offset / sector

	if e.Flags&Discard != 0 {
		l.discard(discarded{first + from, first + to, what})

		return
	}

	for i := from; i < to; i++ {
		l.set(first+i, source(e.Data+i*sector))
	}
}

func (l *layer) discard(d discarded) {
	if d.source == below || d.from == d.to {
		return
	}

	for n, c := range l.chunks {
		for i := range int64(perChunk) {
			if at := n*perChunk + i; at >= d.from && at < d.to {
				c[i] = below
			}
		}
	}

	l.ranges = append(l.ranges, d)
}

func (e Entry) sectors() int64 { return e.Length / sector }

// Recording is a disk and the log of what was written to it.
type Recording struct {
	// Before is the disk before the first entry of the log; nil is a disk of zeros. Size is in bytes.
	Before io.ReaderAt
	Size   int64
	Log    *Log
	// Data is the file of the log.
	Data io.ReaderAt
}

// State is a disk after a power cut. It is valid until the next one is asked for, and not safe for concurrent use.
type State struct {
	recording *Recording
	// layers are those of what is durable, of what else is there, and of what was written since the cut: the last one counts.
	layers  [3]*layer
	written []byte
	// near are the chunks of one number in the layers: sectors are mostly asked for in order.
	near struct {
		chunk  int64
		known  bool
		chunks [3]*[perChunk]source
	}
	// Entry is the number of entries before the cut, and Flushes that of flushes. Kept and Lost are the writes since the last flush; a torn
	// one is both. How says which are kept.
	Entry, Flushes, Kept, Lost int
	How                        string
}

// String names the state, for messages.
func (s *State) String() string {
	return fmt.Sprintf("cut after %d entries and %d flushes, %s: %d writes kept, %d lost", s.Entry, s.Flushes, s.How, s.Kept, s.Lost)
}

// Size returns the size of the disk in bytes.
func (s *State) Size() int64 { return s.recording.Size }

// run is a number of sectors whose content is in one place. At from below, the place is the same offset of the disk before.
type run struct {
	from   source
	length int64
}

// runs calls fn with the places of a range of the disk.
func (s *State) runs(offset, length int64, fn func(at int64, r run) error) error {
	if offset < 0 || length < 0 || offset > s.Size() {
		return io.EOF
	}

	short := length > s.Size()-offset
	if short {
		length = s.Size() - offset
	}

	for end := offset + length; offset < end; {
		from := s.at(offset / sector)
		n := min(sector-offset%sector, end-offset)

		for offset+n < end {
			next := s.at((offset + n) / sector)
			if want := from; next != following(want, offset, n) {
				break
			}

			n += min(sector, end-offset-n)
		}

		place := from
		if from >= sector || from <= memory {
			place = from.plus(offset % sector)
		}

		if err := fn(offset, run{place, n}); err != nil {
			return err
		}

		offset += n
	}

	if short {
		return io.EOF
	}

	return nil
}

// following returns the source of the sector after n bytes from an offset, if it is in the same run.
func following(from source, offset, n int64) source {
	if from >= sector || from <= memory {
		return from.plus((offset%sector + n) / sector * sector)
	}

	return from
}

// plus returns the place some bytes later.
func (s source) plus(n int64) source {
	if s <= memory {
		return s - source(n)
	}

	return s + source(n)
}

func (s *State) at(n int64) source {
	near := &s.near

	if chunk := n / perChunk; !near.known || near.chunk != chunk {
		near.chunk, near.known = chunk, true
		for i, l := range s.layers {
			near.chunks[i] = l.chunks[chunk]
		}
	}

	for i := len(s.layers) - 1; i >= 0; i-- {
		if from := s.layers[i].in(near.chunks[i], n); from != below {
			return from
		}
	}

	return below
}

// ReadAt implements io.ReaderAt.
func (s *State) ReadAt(b []byte, offset int64) (int, error) {
	n := 0
	err := s.runs(offset, int64(len(b)), func(at int64, r run) error {
		read, err := s.read(b[n:n+int(r.length)], at, r.from)
		n += read

		return err
	})

	return n, err
}

func (s *State) read(b []byte, at int64, from source) (int, error) {
	switch {
	case from >= sector:
		return s.recording.Data.ReadAt(b, int64(from))
	case from <= memory:
		return copy(b, s.written[memory-from:]), nil
	case from == anything:
		return copy(b, bytes.Repeat([]byte("discarded"), len(b)/9+1)), nil
	case from == zeros || s.recording.Before == nil:
		clear(b)

		return len(b), nil
	default:
		return s.recording.Before.ReadAt(b, at)
	}
}

// WriteAt implements io.WriterAt: what the system writes after the cut.
func (s *State) WriteAt(b []byte, offset int64) (int, error) {
	if offset < 0 || offset+int64(len(b)) > s.Size() {
		return 0, fmt.Errorf("write %d bytes at %d: the disk has %d bytes", len(b), offset, s.Size())
	}

	for n := 0; n < len(b); {
		at := offset + int64(n)
		whole := make([]byte, sector)

		if at%sector != 0 || len(b)-n < sector {
			if _, err := s.ReadAt(whole, at/sector*sector); err != nil {
				return n, err
			}
		}

		n += copy(whole[at%sector:], b[n:])
		s.near.known = false
		s.layers[2].set(at/sector, memory-source(len(s.written)))

		if len(s.written)+sector > cap(s.written) { // a disk is written a lot
			s.written = slices.Grow(s.written, max(mib, len(s.written)))
		}

		s.written = append(s.written, whole...)
	}

	return len(b), nil
}

// Sync does nothing: the power is not cut twice.
func (s *State) Sync() error { return nil }

// Close does nothing.
func (s *State) Close() error { return nil }

// identify adds to a hash where the content of a range is. Ranges with the same hash have the same content.
func (s *State) identify(h hash.Hash, offset, length int64) error {
	return s.runs(offset, length, func(at int64, r run) error {
		place := int64(r.from)

		switch {
		case r.from == below:
			place = -at - 1
		case r.from <= memory:
			h.Write(s.written[memory-r.from:][:r.length])
		}

		b := binary.LittleEndian.AppendUint64(nil, uint64(r.from))
		b = binary.LittleEndian.AppendUint64(b, uint64(place))
		h.Write(binary.LittleEndian.AppendUint64(b, uint64(r.length)))

		return nil
	})
}
