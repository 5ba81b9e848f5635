// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

func prefixed(frames ...[]byte) []byte {
	var b []byte
	for _, f := range frames {
		b = binary.BigEndian.AppendUint32(b, uint32(len(f)))
		b = append(b, f...)
	}

	return b
}

func TestReadFrame(t *testing.T) {
	full := bytes.Repeat([]byte{7}, 1514)
	jumbo := bytes.Repeat([]byte{9}, MaxFrame)

	tests := []struct {
		name   string
		stream []byte
		want   [][]byte
		err    error
	}{
		{"empty stream", nil, nil, io.EOF},
		{"one", prefixed(full), [][]byte{full}, io.EOF},
		{"two", prefixed(full, full[:14]), [][]byte{full, full[:14]}, io.EOF},
		{"longest", prefixed(jumbo), [][]byte{jumbo}, io.EOF},
		{"runts are passed over", prefixed(nil, full[:13], full), [][]byte{full}, io.EOF},
		{"end in the prefix", []byte{0, 0}, nil, io.ErrUnexpectedEOF},
		{"end in the frame", prefixed(full)[:100], nil, io.ErrUnexpectedEOF},
		{"end in a runt", []byte{0, 0, 0, 9, 1}, nil, io.ErrUnexpectedEOF},
		{"too long", []byte{0, 2, 0, 0}, nil, &LengthError{0x20000}},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := bufio.NewReader(bytes.NewReader(tt.stream))

			for i, want := range tt.want {
				f, err := readFrame(r)
				if err != nil {
					t.Fatalf("frame %d: %v", i, err)
				}

				if !bytes.Equal(f.Bytes(), want) {
					t.Errorf("frame %d: got %d bytes, want %d of other content", i, len(f.Bytes()), len(want))
				}

				f.release()
			}

			_, err := readFrame(r)

			var length, wantLength *LengthError
			if errors.As(tt.err, &wantLength) {
				if !errors.As(err, &length) || *length != *wantLength {
					t.Errorf("got error %v, want %v", err, tt.err)
				}
			} else if err != tt.err {
				t.Errorf("got error %v, want %v", err, tt.err)
			}
		})
	}
}

// FuzzReadFrame checks that a stream of any bytes is read to its end, with frames of valid length and the stream's
// content.
func FuzzReadFrame(f *testing.F) {
	f.Add(prefixed(make([]byte, 60), nil, make([]byte, 14)))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{0, 0, 0, 14, 1, 2})

	f.Fuzz(func(t *testing.T, stream []byte) {
		r := bufio.NewReader(bytes.NewReader(stream))

		for {
			frame, err := readFrame(r)
			if err != nil {
				return
			}

			if n := len(frame.Bytes()); n < headerLen || n > MaxFrame {
				t.Fatalf("got a frame of %d bytes", n)
			}

			if !bytes.Contains(stream, frame.wire) {
				t.Fatal("got a frame that is not in the stream")
			}

			frame.release()
		}
	})
}
