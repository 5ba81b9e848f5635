// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// apply mounts all points below a folder.
func apply(points []point, root string) error {
	for _, p := range points {
		if err := p.apply(root); err != nil && (!p.optional || !absent(err)) {
			return fmt.Errorf("%s %s: %w", p.fsType, p.target, err)
		}
	}

	return nil
}

// absent reports whether an error means that this computer's kernel lacks the file or file system.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO)
}

func (p point) apply(root string) error {
	target := filepath.Join(root, p.target)

	switch p.fsType {
	case mkdir:
		return os.MkdirAll(target, 0o755)
	case link:
		return os.Symlink(p.source, target)
	case "remount":
		return remount(target, p.flags)
	case bind:
		source := p.source
		if strings.HasPrefix(source, "/proc/") || strings.HasPrefix(source, "/sys/") { // a file of the machine
			source = filepath.Join(root, source)
		}

		return bindAt(source, target, p.create, p.flags)
	}

	if _, err := os.Stat(target); err != nil {
		return err
	}

	return unix.Mount(p.source, target, p.fsType, p.flags, p.data)
}

func bindAt(source, target string, create bool, flags uintptr) error {
	st, err := os.Stat(source)
	if err != nil {
		return err
	}

	if create {
		if err := os.WriteFile(target, nil, 0o600); err != nil {
			return err
		}
	} else if to, err := os.Stat(target); err != nil {
		return err
	} else if st.IsDir() != to.IsDir() {
		return fmt.Errorf("%s and %s are not both files or both folders", source, target)
	}

	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		return err
	}

	if flags == 0 {
		return nil
	}

	return remount(target, flags)
}

// remount sets the flags of a mount. Flags from outside of a user namespace are locked, and must be set again.
func remount(target string, flags uintptr) error {
	var st unix.Statfs_t
	if err := unix.Statfs(target, &st); err != nil {
		return err
	}

	for _, locked := range []struct {
		statfs int64
		mount  uintptr
	}{
		{unix.ST_NOSUID, unix.MS_NOSUID}, {unix.ST_NODEV, unix.MS_NODEV}, {unix.ST_NOEXEC, unix.MS_NOEXEC},
		{unix.ST_NOATIME, unix.MS_NOATIME}, {unix.ST_NODIRATIME, unix.MS_NODIRATIME}, {unix.ST_RELATIME, unix.MS_RELATIME},
	} {
		if st.Flags&locked.statfs != 0 {
			flags |= locked.mount
		}
	}

	return unix.Mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|flags, "")
}
