// SPDX-License-Identifier: Apache-2.0

package block

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/power"
)

// errElsewhere is the error of a volume that was unmounted here, but whose file system another mount namespace keeps in use, such as that of a
// container that was left behind.
var errElsewhere = errors.New("its file system is in use in another mount namespace")

// Unmount implements Mounter.
func (Mounts) Unmount(source, target string) error {
	table, err := mount.Table()
	if err != nil {
		return err
	}

	for _, e := range mount.UnmountOrder(table, target) {
		if err := mount.Unmount(e.Target); err != nil {
			return err
		}
	}

	if !heldElsewhere(source) {
		return nil
	}

	return errors.Join(fmt.Errorf("unmount %s: %w", source, errElsewhere), power.Flush())
}

// The kernel unmounts the file systems of a container some time after its last process has ended, and udevd uses a device for some
// milliseconds.
const (
	heldLooks = 10
	heldPause = 100 * time.Millisecond
)

// loopMajor is the major number of loop devices. Their partitions have another.
const loopMajor = 7

// heldElsewhere reports whether a block device is still in use. Folders, files and whole loop devices, which have no file system of a disk,
// are never in use. The other partitions of the disk do not count.
func heldElsewhere(source string) bool {
	var st unix.Stat_t
	if err := unix.Stat(source, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK || unix.Major(st.Rdev) == loopMajor {
		return false
	}

	for look := range heldLooks {
		if look > 0 {
			time.Sleep(heldPause)
		}

		f, err := os.OpenFile(source, os.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)
		if err == nil {
			f.Close()
		}

		if !errors.Is(err, unix.EBUSY) { // a device that was removed is not in use
			return false
		}
	}

	return true
}
