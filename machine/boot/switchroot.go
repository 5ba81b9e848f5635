// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/mount"
)

// mountImage mounts a squashfs file read-only through a loop device.
func mountImage(image, target string) error {
	dev, err := attachLoop(image)
	if err != nil {
		return fmt.Errorf("root image %s: %w", image, err)
	}

	// The device detaches from the file after its last unmount.
	defer dev.Close()

	return mount.Point{
		Source: dev.Name(), Target: target, FSType: "squashfs", Flags: mount.ReadOnly | mount.NoDev | mount.NoSuid,
	}.Mount()
}

func attachLoop(image string) (*os.File, error) {
	file, err := os.Open(image)
	if err != nil {
		return nil, err
	}
	defer file.Close()

	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%w (is the module loop in the initramfs?)", err)
	}
	defer control.Close()

	for {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find a free loop device: %w", err)
		}

		dev, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}

		err = unix.IoctlLoopConfigure(int(dev.Fd()), &unix.LoopConfig{
			Fd:   uint32(file.Fd()),
			Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_READ_ONLY | unix.LO_FLAGS_AUTOCLEAR},
		})
		if err == nil {
			return dev, nil
		}

		dev.Close() // unused

		if !errors.Is(err, unix.EBUSY) { // another process has taken it
			return nil, fmt.Errorf("configure %s: %w", dev.Name(), err)
		}
	}
}

// switchRoot frees the initramfs, makes the new root the root, and executes init. The initramfs cannot be unmounted: its files
// are removed, and the new root is moved over it.
func switchRoot(root, init string) error {
	// An error only delays the start.
	_ = Prefetch(filepath.Join(root, init))

	if err := removeTree("/"); err != nil {
		return fmt.Errorf("free the initramfs: %w", err)
	}

	if err := os.Chdir(root); err != nil {
		return err
	}

	if err := mount.Move(root, "/"); err != nil {
		return err
	}

	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("chroot to the root image: %w", err)
	}

	if err := os.Chdir("/"); err != nil {
		return err
	}

	if err := unix.Exec(init, []string{init}, os.Environ()); err != nil {
		return fmt.Errorf("run %s: %w", init, err)
	}

	return nil
}

// removeTree removes everything below a folder that is on the same file system. Mount points stay.
func removeTree(dir string) error {
	var root unix.Stat_t
	if err := unix.Lstat(dir, &root); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}

	return removeBelow(dir, root.Dev)
}

func removeBelow(dir string, dev uint64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}

	var errs []error

	for _, e := range entries {
		path := filepath.Join(dir, e.Name())

		if e.IsDir() {
			var st unix.Stat_t
			if err := unix.Lstat(path, &st); err != nil || st.Dev != dev {
				continue // removed, or another file system
			}

			errs = append(errs, removeBelow(path, dev))
		}

		if err := os.Remove(path); err != nil && !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENOTEMPTY) {
			errs = append(errs, err)
		}
	}

	return errors.Join(errs...)
}
