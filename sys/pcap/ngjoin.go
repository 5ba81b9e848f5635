// SPDX-License-Identifier: Apache-2.0

package pcap

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

// NgJoin joins several pcapng files into one while they are written. The file has one header, and the interfaces of all files in the
// order in which they are written.
type NgJoin struct {
	mu    sync.Mutex // guards what follows and the order of writes
	w     io.Writer
	begun bool
	// interfaces is the number of interfaces so far.
	interfaces uint32
}

// NewNgJoin writes the file to w.
func NewNgJoin(w io.Writer) *NgJoin { return &NgJoin{w: w} }

// Source returns a writer for one of the files. Each write must be complete blocks of this package.
func (j *NgJoin) Source() io.Writer { return &ngSource{join: j} }

// ngSource is one of the files.
type ngSource struct {
	join *NgJoin
	// numbers are the numbers of its interfaces in the joined file.
	numbers []uint32
}

var errNgBlock = errors.New("join captures: a write is not made of complete pcapng blocks")

// Write takes complete blocks.
func (s *ngSource) Write(blocks []byte) (int, error) {
	j := s.join

	j.mu.Lock()
	defer j.mu.Unlock()

	out := make([]byte, 0, len(blocks))

	for rest := blocks; len(rest) > 0; {
		const least = 12

		if len(rest) < least {
			return 0, errNgBlock
		}

		size := binary.LittleEndian.Uint32(rest[4:])
		if size < least || uint64(size) > uint64(len(rest)) {
			return 0, errNgBlock
		}

		block := rest[:size]
		rest = rest[size:]

		switch binary.LittleEndian.Uint32(block) {
		case ngSection:
			if j.begun {
				continue
			}

			j.begun = true
		case ngInterface:
			s.numbers = append(s.numbers, j.interfaces)
			j.interfaces++
		case ngPacket:
			number := binary.LittleEndian.Uint32(block[8:])
			if int64(number) >= int64(len(s.numbers)) {
				return 0, errNgBlock
			}

			at := len(out) + 8
			out = append(out, block...)
			binary.LittleEndian.PutUint32(out[at:], s.numbers[number])

			continue
		}

		out = append(out, block...)
	}

	if len(out) > 0 {
		if _, err := j.w.Write(out); err != nil {
			return 0, err
		}
	}

	return len(blocks), nil
}
