// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// TryOverlay mounts an overlay whose layers are in a folder, and removes it again. The error is the kernel's reason why the folder
// cannot hold layers: it may be on another overlay, or on a network file system.
func TryOverlay(dir string) (err error) {
	scratch, err := os.MkdirTemp(dir, ".overlay-")
	if err != nil {
		return fmt.Errorf("try an overlay: %w", err)
	}

	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()

	at := func(name string) string { return filepath.Join(scratch, name) }

	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(at(name), 0o700); err != nil {
			return fmt.Errorf("try an overlay: %w", err)
		}
	}

	p := Point{
		Source: "overlay", Target: at("merged"), FSType: "overlay", Flags: NoSuid | NoDev | NoExec,
		Data: "lowerdir=" + at("lower") + ",upperdir=" + at("upper") + ",workdir=" + at("work"),
	}
	if err := p.Mount(); err != nil {
		return err
	}

	// Only a change shows whether the upper layer is writable by an overlay.
	err = os.Mkdir(at("merged/made"), 0o700)

	if left := unix.Unmount(p.Target, unix.MNT_DETACH); left != nil {
		return errors.Join(err, &Error{Op: "unmount", Target: p.Target, Err: left})
	}

	return err
}

// Overlay is a folder whose changes are kept in another one.
type Overlay struct {
	// Lower is what is there without changes, Upper has the changes, and Merged is where both are mounted.
	Lower, Upper, Work, Merged string
	Flags                      uintptr
}

// Mount creates the folders of the changes, and mounts.
func (o Overlay) Mount() error {
	for _, dir := range []string{o.Upper, o.Work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("layers of %s: %w", o.Merged, err)
		}
	}

	return Point{
		Source: "overlay", Target: o.Merged, FSType: "overlay", Flags: o.Flags,
		Data: "lowerdir=" + o.Lower + ",upperdir=" + o.Upper + ",workdir=" + o.Work,
	}.Mount()
}

// BindAll makes source and all mounts below it appear at target. The flags are those of the first one.
func BindAll(source, target string, flags uintptr) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return &Error{Op: "bind", Source: source, Target: target, Err: err}
	}

	return Remount(target, flags|unix.MS_BIND)
}
