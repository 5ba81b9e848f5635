// SPDX-License-Identifier: Apache-2.0

//go:build linux

package filetree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// ErrNotRegular is the error for a folder, a device, a FIFO or a socket.
var ErrNotRegular = errors.New("not a regular file")

// chunk is how much is read at a time, and ahead. Above 32 KiB gRPC allocates a mebibyte for each pending message.
const chunk = 31 << 10

// Content is the content of a regular file. A kernel file that would make the reader wait for more, such as its log, ends there.
type Content struct {
	// Info as it was when the file was opened.
	Info fs.FileInfo

	ctx    context.Context // of the reader
	cancel context.CancelFunc
	chunks chan []byte
	rest   []byte
	err    error // the reason why chunks was closed
}

// Open opens a regular file for reading. The last part of the path may be a symbolic link only if follow is set.
//
// The Content has a goroutine for its system calls: only that goroutine waits when the kernel does not answer.
func Open(ctx context.Context, path string, follow bool) (*Content, error) {
	c := &Content{chunks: make(chan []byte)}
	c.ctx, c.cancel = context.WithCancel(ctx)

	opened := make(chan error, 1)

	guard.Go(func() error {
		defer close(c.chunks)

		var f *os.File

		err := guard.Call(func() (err error) {
			f, err = c.open(path, follow)

			return err
		})
		opened <- err

		if err != nil {
			return err
		}

		defer f.Close()

		c.err = guard.Call(func() error { return c.read(f) })

		return c.err
	})

	select {
	case err := <-opened:
		if err != nil {
			c.cancel()

			return nil, err
		}

		return c, nil
	case <-ctx.Done():
		c.cancel()

		return nil, &fs.PathError{Op: "open", Path: path, Err: ctx.Err()}
	}
}

func (c *Content) open(path string, follow bool) (*os.File, error) {
	if err := calls.enter(c.ctx); err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer calls.leave()

	stat, flags := os.Lstat, unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW
	if follow {
		stat, flags = os.Stat, unix.O_NONBLOCK|unix.O_NOCTTY
	}

	// Opening a device may have an effect.
	info, err := stat(path)
	if err != nil {
		return nil, err
	}

	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: notRegular(info)}
	}

	f, err := os.OpenFile(path, os.O_RDONLY|flags, 0)
	if err != nil {
		return nil, err
	}

	c.Info, err = f.Stat()
	if err == nil && !c.Info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: notRegular(c.Info)}
	}

	if err != nil {
		f.Close()

		return nil, err
	}

	return f, nil
}

func notRegular(info fs.FileInfo) error {
	if info.IsDir() {
		return fmt.Errorf("%w: it is a directory", ErrNotRegular)
	}

	return fmt.Errorf("%w: its mode is %s", ErrNotRegular, info.Mode())
}

// read sends the content, chunk by chunk. It bypasses Go's poller, which would wait on EAGAIN.
func (c *Content) read(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}

	for {
		if err := calls.enter(c.ctx); err != nil {
			return &fs.PathError{Op: "read", Path: f.Name(), Err: err}
		}

		buf, n := make([]byte, chunk), 0

		// File.Fd would make the file blocking.
		outer := raw.Read(func(fd uintptr) bool {
			n, err = unix.Read(int(fd), buf)

			return true
		})

		calls.leave()

		switch {
		case outer != nil:
			return outer
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN), err == nil && n == 0:
			return nil
		case err != nil:
			return &fs.PathError{Op: "read", Path: f.Name(), Err: err}
		}

		select {
		case c.chunks <- buf[:n]:
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
}

// Next returns the next bytes, which the caller owns; io.EOF after the last.
func (c *Content) Next() ([]byte, error) {
	if b := c.rest; len(b) > 0 {
		c.rest = nil

		return b, nil
	}

	select {
	case b, ok := <-c.chunks:
		if ok {
			return b, nil
		}

		if c.err != nil {
			return nil, c.err
		}

		return nil, io.EOF
	case <-c.ctx.Done():
		return nil, c.ctx.Err()
	}
}

// Read implements io.Reader.
func (c *Content) Read(p []byte) (int, error) {
	b, err := c.Next()
	if err != nil {
		return 0, err
	}

	n := copy(p, b)
	c.rest = b[n:]

	return n, nil
}

// Close ends the read. It does not wait for the kernel.
func (c *Content) Close() error {
	c.cancel()

	return nil
}
