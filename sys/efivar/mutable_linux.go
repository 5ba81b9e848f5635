// SPDX-License-Identifier: Apache-2.0

package efivar

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// immutable is FS_IMMUTABLE_FL of linux/fs.h.
const immutable = 0x10

// mutable removes the flag with which the kernel protects most variables from being removed by mistake.
func mutable(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err != nil {
		return err
	}
	defer f.Close()

	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil || flags&immutable == 0 {
		return nil // a file system without flags protects nothing
	}

	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags&^immutable); err != nil {
		return &fs.PathError{Op: "remove protection", Path: path, Err: err}
	}

	return nil
}
