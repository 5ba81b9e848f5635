// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package durable

import (
	"errors"
	"os"
	"syscall"
)

// SyncDir returns when the names in a folder are on the disk: after a file was made, renamed or removed. A file system that cannot
// do that for folders, as some of networks and of virtual machines' hosts, is not asked more of.
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
