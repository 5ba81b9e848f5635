// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package durable

import (
	"errors"
	"os"
	"syscall"
)

// SyncDir returns when the names in a folder are on disk: call it after a file was created, renamed or removed. It does nothing on
// a file system that cannot sync folders, as some network and shared file systems.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}

	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}

	return errors.Join(err, d.Close())
}
