// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package power ends the machine: reboot(2). In a PID namespace the kernel ends its processes instead.
package power

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Reboot restarts the machine; it returns only on failure.
func Reboot() error { return end("reboot", unix.LINUX_REBOOT_CMD_RESTART) }

// Off powers the machine off; it returns only on failure.
func Off() error { return end("power off", unix.LINUX_REBOOT_CMD_POWER_OFF) }

// Flush writes to the disks what the kernel still holds.
func Flush() { unix.Sync() }

func end(what string, cmd int) error {
	if err := unix.Reboot(cmd); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}

	return nil
}
