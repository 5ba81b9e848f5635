// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kmsg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// maxRecord is the kernel's limit (CONSOLE_EXT_LOG_MAX).
const maxRecord = 8192

// Read calls fn for each record in the kernel's buffer and, if follow is set, for each new one until ctx is done.
// The kernel skips records that were overwritten before they were read.
func Read(ctx context.Context, follow bool, fn func(Message) error) error {
	f, err := os.OpenFile(Path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("read the kernel log: %w", err)
	}
	defer f.Close()

	raw, err := f.SyscallConn()
	if err != nil {
		return fmt.Errorf("read the kernel log: %w", err)
	}

	stop := context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) }) // ends a pending read
	defer stop()

	for buf := make([]byte, maxRecord); ctx.Err() == nil; {
		var n int

		// Go's poller waits only with follow: without it, EAGAIN is the end.
		outer := raw.Read(func(fd uintptr) bool {
			n, err = unix.Read(int(fd), buf)

			return !follow || !errors.Is(err, unix.EAGAIN)
		})

		switch {
		case errors.Is(outer, os.ErrDeadlineExceeded), outer == nil && errors.Is(err, unix.EAGAIN):
			return nil
		case outer != nil:
			return fmt.Errorf("read the kernel log: %w", outer)
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINTR): // overwritten: the next read returns the oldest record
			continue
		case err != nil:
			return fmt.Errorf("read the kernel log: %w", err)
		}

		m, err := Parse(buf[:n])
		if err != nil {
			continue
		}

		if err := fn(m); err != nil {
			return err
		}
	}

	return nil
}

// BootTime is when the kernel's clock started, in wall-clock time.
func BootTime() time.Time {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return time.Now()
	}

	return time.Now().Add(-time.Duration(ts.Nano()))
}
