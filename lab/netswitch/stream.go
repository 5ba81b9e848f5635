// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
)

// readBuffer is the size of one read from a stream: over a hundred frames.
const readBuffer = 256 << 10

// ServeStream connects a stream of length-prefixed frames to the switch under a name, until the stream ends, which is
// not an error, or ctx is done.
func (s *Switch) ServeStream(ctx context.Context, name string, conn net.Conn) error {
	return s.serve(ctx, name, conn, func(p *Port) error { return p.readFrom(conn) }, streamWriter(conn))
}

// serve connects a stream or device to the switch until it ends or ctx is done.
func (s *Switch) serve(ctx context.Context, name string, conn io.Closer, read func(*Port) error, write func([]*Frame) error) error {
	p := s.plug(name)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // unblocks both directions

	written := make(chan error, 1)
	go func() {
		written <- p.run(write)
		// Without its writer the port is of no use: end the reader too.
		_ = conn.Close()
	}()

	readErr := read(p)

	p.Close()
	stop()
	_ = conn.Close() // fails if it is already closed

	if err := errors.Join(failure(readErr), failure(<-written)); err != nil && ctx.Err() == nil {
		return fmt.Errorf("switch port %s: %w", name, err)
	}

	return nil
}

func (p *Port) readFrom(r io.Reader) error {
	buffered := bufio.NewReaderSize(r, readBuffer)

	for {
		f, err := readFrame(buffered)
		if err != nil {
			return err
		}

		p.send(f)
	}
}

func streamWriter(w io.Writer) func([]*Frame) error {
	var vector net.Buffers

	return func(frames []*Frame) error {
		vector = vector[:0]
		for _, f := range frames {
			vector = append(vector, f.wire)
		}

		rest := vector // WriteTo consumes it
		_, err := rest.WriteTo(w)

		return err
	}
}

// ends are the errors with which a stream or a tap device ends when its machine is switched off, in the middle of a
// frame or not.
var ends = []error{
	io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, os.ErrClosed,
	syscall.EPIPE, syscall.ECONNRESET, syscall.EIO, syscall.EBADFD,
}

// failure returns nil for an error that is the end of a connection.
func failure(err error) error {
	if slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) }) {
		return nil
	}

	return err
}
