// SPDX-License-Identifier: Apache-2.0

package pcap

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

// NgJoin makes one pcapng file of several that are being written: it has one
// header, and the interfaces of all files in the order in which they come.
type NgJoin struct {
	mu    sync.Mutex // guards what follows and the order of writes
	w     io.Writer
	begun bool
	// interfaces is how many the file has.
	interfaces uint32
}

// NewNgJoin writes the file to w.
func NewNgJoin(w io.Writer) *NgJoin { return &NgJoin{w: w} }

// Source returns where one of the files is written to: with each write, whole
// blocks as this package makes them.
func (j *NgJoin) Source() io.Writer { return &ngSource{join: j} }

// ngSource is one of the files.
type ngSource struct {
	join *NgJoin
	// numbers are those that its interfaces have in the joined file.
	numbers []uint32
}

var errNgBlock = errors.New("join captures: what is written is not made of whole pcapng blocks")

// Write takes whole blocks.
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
