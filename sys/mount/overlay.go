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
