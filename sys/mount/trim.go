// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"fmt"
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrNoTrim means that a file system or its disk has no use for which blocks are not used.
var ErrNoTrim = errors.New("the file system or its disk does not support discard")

// trimRange is struct fstrim_range of linux/fs.h.
type trimRange struct{ start, length, minLength uint64 }

// fitrim is FITRIM of linux/fs.h: _IOWR('X', 121, struct fstrim_range).
const fitrim = 0xc0185879

// Trim tells the disk of a mounted file system which blocks are not used, and returns their size. It may take minutes.
func Trim(target string) (uint64, error) {
	dir, err := os.Open(target)
	if err != nil {
		return 0, fmt.Errorf("trim: %w", err)
	}
	defer dir.Close()

	all := trimRange{length: math.MaxUint64}

	_, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), fitrim, uintptr(unsafe.Pointer(&all)))

	switch errno {
	case 0:
		return all.length, nil // the kernel has replaced it
	case unix.EOPNOTSUPP, unix.ENOTTY:
		return 0, fmt.Errorf("trim %s: %w", target, ErrNoTrim)
	default:
		return 0, fmt.Errorf("trim %s: %w", target, errno)
	}
}
