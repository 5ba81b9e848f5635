// SPDX-License-Identifier: Apache-2.0

//go:build unix

package state

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock reserves a directory for one process until it unlocks it or ends. On a file system without locks, nothing is
// locked. Taken is the error for a directory that another process has.
func Lock(dir, taken string) (unlock func(), err error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}

	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("lock %s: %s", dir, taken), file.Close())
	}

	return func() { _ = file.Close() }, nil // read only
}
