// SPDX-License-Identifier: Apache-2.0

package bootlog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"time"
)

// A record on disk is, in little endian: the length of the payload and its CRC-32C, four bytes each, and the payload: the
// time in nanoseconds since 1970, eight bytes; the length of the log's id, one byte; the id; the line.
const (
	headerSize = 8
	prefixSize = 9
	// maxLine is where a line is cut.
	maxLine    = 16 << 10
	maxID      = 255
	maxPayload = prefixSize + maxID + maxLine
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// line is one record.
type line struct {
	time time.Time
	id   string
	text []byte
}

// appendFrame adds a record to buf. An id or a line that is too long is cut.
func appendFrame(buf []byte, l line) []byte {
	id := l.id[:min(len(l.id), maxID)]
	text := l.text[:min(len(l.text), maxLine)]

	start := len(buf)
	buf = append(buf, make([]byte, headerSize)...)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(l.time.UnixNano()))
	buf = append(buf, byte(len(id)))
	buf = append(buf, id...)
	buf = append(buf, text...)

	payload := buf[start+headerSize:]
	binary.LittleEndian.PutUint32(buf[start:], uint32(len(payload))) // bounded above
	binary.LittleEndian.PutUint32(buf[start+4:], crc32.Checksum(payload, castagnoli))

	return buf
}

// errTorn is the error of an incomplete record, where a segment ends.
var errTorn = errors.New("the record is incomplete")

// frames reads records; the text of a record is valid until the next.
type frames struct {
	r   *bufio.Reader
	buf []byte
}

func newFrames(r io.Reader) *frames {
	return &frames{r: bufio.NewReaderSize(r, 64<<10), buf: make([]byte, maxPayload)}
}

// next returns io.EOF at the end, and errTorn at an incomplete record.
func (f *frames) next() (line, error) {
	var header [headerSize]byte

	if _, err := io.ReadFull(f.r, header[:]); err != nil {
		return line{}, torn(err)
	}

	size := binary.LittleEndian.Uint32(header[:])
	if size < prefixSize || size > maxPayload {
		return line{}, errTorn
	}

	payload := f.buf[:size]
	if _, err := io.ReadFull(f.r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			return line{}, errTorn
		}

		return line{}, torn(err)
	}

	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(header[4:]) {
		return line{}, errTorn
	}

	rest, idSize := payload[prefixSize:], int(payload[8])
	if idSize > len(rest) {
		return line{}, errTorn
	}

	return line{
		time: time.Unix(0, int64(binary.LittleEndian.Uint64(payload))), // see appendFrame
		id:   string(rest[:idSize]), text: rest[idSize:],
	}, nil
}

func torn(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errTorn
	}

	return err
}
