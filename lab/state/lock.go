// SPDX-License-Identifier: Apache-2.0

//go:build unix

package state

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock keeps a lab's directory for one supervisor until it unlocks it or ends,
// however it ends. Where the file system has no locks, nothing is locked.
func Lock(dir string) (unlock func(), err error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("lock the lab's directory: %w", err)
	}

	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("lock the lab's directory %s: another supervisor runs it, begins or ends", dir), file.Close())
	}

	return func() { _ = file.Close() }, nil // read only
}
