// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// withheld are the capabilities with which root changes the whole computer and
// no namespace stands between: to load kernel modules, to write to the memory
// and the ports of the hardware, and to set the clock. The system does none of
// that in a container, and no pod gets them, privileged or not.
var withheld = []uintptr{unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_TIME}

// confine takes from the calling thread, and so from what it executes, what no
// mount withholds. The thread must be locked.
func (s *Spec) confine() error {
	// A descriptor that the lab's caller left open is a way out of the machine.
	if err := unix.CloseRange(stageSocket, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close what is open on exec (Linux 5.11): %w", err)
	}

	// The caller's session keyring would be the machine's. A kernel without keys
	// has none.
	if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil && !errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("new session keyring: %w", err)
	}

	// In a user namespace they are for what is in the namespace only.
	if s.UserNamespace {
		return nil
	}

	return withhold(withheld)
}

// withhold takes capabilities from all that the thread executes.
func withhold(capabilities []uintptr) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}

	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}

	for _, c := range capabilities {
		if there, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err != nil {
			return fmt.Errorf("read capability %d: %w", c, err)
		} else if there == 0 {
			continue
		}

		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}

	// Root has after exec what the bounding set allows, and what is inheritable.
	for _, c := range capabilities {
		sets[c/32].Inheritable &^= 1 << (c % 32)
	}

	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}

	return nil
}
