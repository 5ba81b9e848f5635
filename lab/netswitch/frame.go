// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

const (
	// prefixLen is the length that QEMU writes before each frame on a stream.
	prefixLen = 4
	// headerLen is an Ethernet header: destination, source, type.
	headerLen = 14
	// MaxFrame is the longest frame that QEMU sends (NET_BUFSIZE in its net.h).
	MaxFrame = 4096 + 65536
	// usualCap holds a frame of a 1500 byte MTU, with VLAN tag and prefix.
	usualCap = 2048
)

// address is a hardware address.
type address [6]byte

func (a address) group() bool { return a[0]&1 != 0 }

// Frame is an Ethernet frame in the switch. The queues of its output ports share it.
type Frame struct {
	wire []byte // length prefix, then the frame
	refs atomic.Int32
}

var pool = sync.Pool{New: func() any { return &Frame{wire: make([]byte, 0, usualCap)} }}

// newFrame returns a frame of n bytes with undefined content and one reference.
func newFrame(n int) *Frame {
	var f *Frame
	if prefixLen+n <= usualCap {
		f, _ = pool.Get().(*Frame)
	} else {
		f = &Frame{wire: make([]byte, 0, prefixLen+n)}
	}

	f.wire = f.wire[:prefixLen+n]
	binary.BigEndian.PutUint32(f.wire, uint32(n))
	f.refs.Store(1)

	return f
}

// Bytes returns the frame from its destination address on. It is valid until the function that got the frame returns.
func (f *Frame) Bytes() []byte { return f.wire[prefixLen:] }

func (f *Frame) destination() address { return address(f.wire[prefixLen:]) }
func (f *Frame) source() address      { return address(f.wire[prefixLen+6:]) }

func (f *Frame) retain() { f.refs.Add(1) }

// release drops a reference. Long frames are left to the garbage collector: if a short frame used their memory, it
// would keep all of it while it waits.
func (f *Frame) release() {
	if f.refs.Add(-1) == 0 && cap(f.wire) <= usualCap {
		pool.Put(f)
	}
}

// LengthError is the error of a stream with a frame that is too long. The rest of the stream cannot be read, since the
// start of the next frame is unknown.
type LengthError struct{ Length uint32 }

func (e *LengthError) Error() string {
	return fmt.Sprintf("frame of %d bytes announced, at most %d are possible: the stream is out of step", e.Length, MaxFrame)
}

// readFrame reads the next frame of a stream. Frames too short for an Ethernet header are skipped. At a clean end of
// the stream it returns io.EOF.
func readFrame(r *bufio.Reader) (*Frame, error) {
	for {
		prefix, err := r.Peek(prefixLen)
		if err != nil {
			if err == io.EOF && len(prefix) > 0 {
				err = io.ErrUnexpectedEOF
			}

			return nil, err
		}

		n := binary.BigEndian.Uint32(prefix)
		if n > MaxFrame {
			return nil, &LengthError{Length: n}
		}

		if n < headerLen {
			if _, err := r.Discard(prefixLen + int(n)); err != nil {
				return nil, unexpected(err)
			}

			continue
		}

		f := newFrame(int(n))
		if _, err := io.ReadFull(r, f.wire); err != nil {
			f.release()

			return nil, unexpected(err)
		}

		return f, nil
	}
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}

	return err
}
