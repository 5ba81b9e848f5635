// SPDX-License-Identifier: Apache-2.0

// Package mount creates and removes mounts, and reads the mount table. Errors name the mount, so that a boot that stops says at which
// mount.
package mount

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Flags of mount(2) that the system's policy uses.
const (
	NoSuid   uintptr = unix.MS_NOSUID
	NoDev    uintptr = unix.MS_NODEV
	NoExec   uintptr = unix.MS_NOEXEC
	ReadOnly uintptr = unix.MS_RDONLY
)

// Point is a mount to create.
type Point struct {
	Source string
	Target string
	FSType string
	// Data are the file system's own options, comma separated.
	Data  string
	Flags uintptr
	// Optional mounts are skipped where the kernel lacks the file system or the mount point.
	Optional bool
}

// Error is a failed mount operation; it unwraps to the errno.
type Error struct {
	Op, Source, Target, FSType string
	Err                        error
}

// Error implements error.
func (e *Error) Error() string {
	s := e.Op + " " + e.Target
	if e.Source != "" {
		s += " from " + e.Source
	}

	if e.FSType != "" {
		s += " (" + e.FSType + ")"
	}

	return s + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Mount creates the folder of the mount point if it is missing, and mounts.
func (p Point) Mount() error {
	err := os.MkdirAll(p.Target, 0o755)
	if err == nil {
		err = unix.Mount(p.Source, p.Target, p.FSType, p.Flags, p.Data)
	}

	if err == nil || p.Optional && absent(err) {
		return nil
	}

	return &Error{Op: "mount", Source: p.Source, Target: p.Target, FSType: p.FSType, Err: err}
}

func absent(err error) bool {
	return errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EPERM) ||
		errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EROFS)
}

// All creates mounts in order and stops at the first error.
func All(points []Point) error {
	for _, p := range points {
		if err := p.Mount(); err != nil {
			return err
		}
	}

	return nil
}

// Bind makes source appear at target, with the given flags. The target must exist and be of the same type (file or folder). The
// kernel sets the flags of a bind mount only in a second step.
func Bind(source, target string, flags uintptr) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		return &Error{Op: "bind", Source: source, Target: target, Err: err}
	}

	if flags == 0 {
		return nil
	}

	return Remount(target, flags|unix.MS_BIND)
}

// Remount changes the flags of a mount.
func Remount(target string, flags uintptr) error {
	if err := unix.Mount("", target, "", unix.MS_REMOUNT|flags, ""); err != nil {
		return &Error{Op: "remount", Target: target, Err: err}
	}

	return nil
}

// Move moves a mount to another target.
func Move(source, target string) error {
	if err := unix.Mount(source, target, "", unix.MS_MOVE, ""); err != nil {
		return &Error{Op: "move mount", Source: source, Target: target, Err: err}
	}

	return nil
}

// Unmount removes a mount; it is not an error if there is none.
func Unmount(target string) error {
	err := unix.Unmount(target, unix.UMOUNT_NOFOLLOW)
	if err == nil || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return nil
	}

	return &Error{Op: "unmount", Target: target, Err: fmt.Errorf("%w%s", err, hint(err))}
}

func hint(err error) string {
	if errors.Is(err, unix.EBUSY) {
		return " (a process still has a file open there)"
	}

	return ""
}

// MakeShared lets mounts below target propagate to later mount namespaces, and back. The kubelet needs this of the root.
func MakeShared(target string) error {
	if err := unix.Mount("", target, "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return &Error{Op: "share mounts of", Target: target, Err: err}
	}

	return nil
}

// Detach removes a mount and those on it from the tree, even if they are used.
func Detach(target string) error {
	if err := unix.Unmount(target, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
		return &Error{Op: "detach", Target: target, Err: err}
	}

	return nil
}
