// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// withheld are the capabilities with which root changes the whole computer from any namespace: to load kernel modules,
// to write to the memory and ports of the hardware, and to set the clock. The system does not need them in a container,
// and no pod gets them, not even a privileged one.
var withheld = []uintptr{unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_TIME}

// confine drops privileges of the calling thread, and so of the program that it executes, that mounts cannot withhold.
// The thread must be locked.
func (s *Spec) confine() error {
	// A descriptor that the lab's caller left open would lead out of the machine.
	if err := unix.CloseRange(stageSocket, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("set close-on-exec of open descriptors (Linux 5.11): %w", err)
	}

	// The machine must not have the caller's session keyring. A kernel without keys has no keyrings.
	if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil && !errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("new session keyring: %w", err)
	}

	// In a user namespace, capabilities apply only to the namespace.
	if s.UserNamespace {
		return nil
	}

	return withhold(withheld)
}

// withhold drops capabilities of the programs that the thread executes.
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

	// After exec, root has the capabilities of the bounding set and the inheritable ones.
	for _, c := range capabilities {
		sets[c/32].Inheritable &^= 1 << (c % 32)
	}

	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}

	return nil
}
