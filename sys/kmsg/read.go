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
// Records that were overwritten before they could be read are skipped, as the kernel does.
func Read(ctx context.Context, follow bool, fn func(Message) error) error {
	f, err := os.OpenFile(Path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("read the kernel log: %w", err)
	}
	defer f.Close() //nolint:errcheck

	stop := context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) }) //nolint:errcheck // ends a blocked read
	defer stop()

	// Without follow, the newest record at the start is the end: a busy kernel must not keep us here.
	if !follow {
		f.SetReadDeadline(time.Now().Add(10 * time.Millisecond)) //nolint:errcheck // see below
	}

	buf := make([]byte, maxRecord)

	for {
		n, err := f.Read(buf)

		switch {
		case errors.Is(err, unix.EPIPE): // overwritten: the next read returns the oldest that is left
			continue
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil
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

		if !follow {
			f.SetReadDeadline(time.Now().Add(10 * time.Millisecond)) //nolint:errcheck // a device that cannot poll fails at open
		}
	}
}

// BootTime is when the kernel's clock started, in wall-clock time.
func BootTime() time.Time {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return time.Now()
	}

	return time.Now().Add(-time.Duration(ts.Nano()))
}
