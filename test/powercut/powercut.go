// SPDX-License-Identifier: Apache-2.0

// Package powercut has a disk in memory that records its writes, and yields what a power cut at any time could leave: everything up to a
// flush, and any of the sectors written after it. A disk and its kernel may write these in any order, and each sector as a whole.
package powercut

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
)

// sector is what a disk writes as a whole.
const sector = 512

// Disk is a disk in memory. It is not safe for concurrent use.
type Disk struct {
	size    int64
	sectors map[int64]*[sector]byte
	// under has what is not in sectors.
	under map[int64]*[sector]byte
	// start is the content when the log begins.
	start map[int64]*[sector]byte
	log   []record
	// Writable is how many more bytes may be written before writes fail; less than 0 is without limit.
	Writable int64
}

// record is a written sector, or a flush, which has no content.
type record struct {
	at      int64
	content *[sector]byte
}

// New returns a disk of zeros with a size in bytes.
func New(size int64) *Disk {
	return &Disk{size: size, sectors: map[int64]*[sector]byte{}, start: map[int64]*[sector]byte{}, Writable: -1}
}

// Size returns the size in bytes.
func (d *Disk) Size() int64 { return d.size }

var zeros [sector]byte

func (d *Disk) get(n int64) *[sector]byte {
	if s, there := d.sectors[n]; there {
		return s
	}

	if s, there := d.under[n]; there {
		return s
	}

	return &zeros
}

// ReadAt implements io.ReaderAt.
func (d *Disk) ReadAt(b []byte, offset int64) (int, error) {
	n := 0

	for n < len(b) {
		at := offset + int64(n)
		if at < 0 || at >= d.size {
			return n, io.EOF
		}

		n += copy(b[n:], d.get(at / sector)[at%sector:])
	}

	return n, nil
}

// ErrFull is the error of a write for which Writable has no bytes left.
var ErrFull = errors.New("input/output error")

// WriteAt implements io.WriterAt.
func (d *Disk) WriteAt(b []byte, offset int64) (int, error) {
	if offset < 0 || offset+int64(len(b)) > d.size {
		return 0, fmt.Errorf("write %d bytes at %d: the disk has %d bytes", len(b), offset, d.size)
	}

	for n := 0; n < len(b); {
		at := offset + int64(n)
		next := *d.get(at / sector)
		length := copy(next[at%sector:], b[n:])

		if d.Writable >= 0 {
			if d.Writable -= int64(length); d.Writable < 0 {
				d.Writable = 0

				return n, ErrFull
			}
		}

		d.sectors[at/sector] = &next
		d.log = append(d.log, record{at / sector, &next})
		n += length
	}

	return len(b), nil
}

// Sync implements the flush.
func (d *Disk) Sync() error {
	d.log = append(d.log, record{})

	return nil
}

// Forget forgets the writes until now: they are on the disk, whatever comes.
func (d *Disk) Forget() {
	d.start, d.log = maps.Clone(d.under), nil
	if d.start == nil {
		d.start = map[int64]*[sector]byte{}
	}

	maps.Copy(d.start, d.sectors)
}

// Fork returns a disk with the same content. This one must not be written to while the other is in use.
func (d *Disk) Fork() *Disk {
	under := maps.Clone(d.under)
	if under == nil {
		under = map[int64]*[sector]byte{}
	}

	maps.Copy(under, d.sectors)

	return &Disk{size: d.size, sectors: map[int64]*[sector]byte{}, under: under, start: under, Writable: -1}
}

// Flushes returns the number of recorded flushes.
func (d *Disk) Flushes() (n int) {
	for _, r := range d.log {
		if r.content == nil {
			n++
		}
	}

	return n
}

// Writes returns the number of recorded sectors and flushes.
func (d *Disk) Writes() int { return len(d.log) }

// State is what a power cut leaves. It can be written to, until the next state is asked for; call Forget before its own States.
type State struct {
	*Disk
	// Flushes is the number of flushes before the cut, and Kept how many of the Lost and Kept sectors since the last one are there.
	Flushes, Kept, Lost int
}

// States yields what a power cut could leave: for each flush the disk before it, with any prefix of the sectors since the flush before it, and
// with random ones, each a number of times.
func (d *Disk) States(rng *rand.Rand, times int) iter.Seq[State] {
	return func(yield func(State) bool) {
		durable := maps.Clone(d.start)
		start := 0

		for flushes := 0; ; flushes++ {
			end := start
			for end < len(d.log) && d.log[end].content != nil {
				end++
			}

			for i := range 2 * times {
				if !yield(d.state(durable, d.log[start:end], rng, i%2 == 0, flushes)) {
					return
				}

				if start == end {
					break // there is one state only
				}
			}

			for _, r := range d.log[start:end] {
				durable[r.at] = r.content
			}

			if end == len(d.log) {
				yield(d.state(durable, nil, rng, true, flushes))

				return
			}

			start = end + 1
		}
	}
}

func (d *Disk) state(durable map[int64]*[sector]byte, since []record, rng *rand.Rand, prefix bool, flushes int) State {
	s := State{Disk: &Disk{size: d.size, sectors: map[int64]*[sector]byte{}, under: durable, Writable: -1}, Flushes: flushes}

	until := len(since)
	if prefix && until > 0 {
		until = rng.IntN(until + 1)
	}

	share := rng.Float64()

	for i, r := range since {
		if i < until && (prefix || rng.Float64() < share) {
			s.sectors[r.at] = r.content
			s.Kept++
		} else {
			s.Lost++
		}
	}

	return s
}
