// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package power reboots and powers off the machine with reboot(2). In a PID namespace the kernel ends its processes instead.
package power

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// flushTime is how long Flush waits for the disks. A machine must shut down even if a disk is dead or the server of a network file
// system does not answer: sync(2) waits for those forever.
const flushTime = 10 * time.Second

// ErrFlush is the error of Flush when not everything was written in time.
var ErrFlush = errors.New("write the kernel's buffers to the disks: timed out")

// Reboot restarts the machine; it returns only on failure.
func Reboot() error { return end("reboot", unix.LINUX_REBOOT_CMD_RESTART) }

// Off powers the machine off; it returns only on failure.
func Off() error { return end("power off", unix.LINUX_REBOOT_CMD_POWER_OFF) }

// Flush writes the kernel's buffers to the disks. It returns after ten seconds at the latest; the kernel continues to write.
func Flush() error { return flush(unix.Sync, flushTime) }

func flush(sync func(), limit time.Duration) error {
	written := guard.Go(func() error { sync(); return nil })

	select {
	case err := <-written:
		return err
	case <-time.After(limit):
		return fmt.Errorf("%w after %s", ErrFlush, limit)
	}
}

func end(what string, cmd int) error {
	if err := unix.Reboot(cmd); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}

	return nil
}
