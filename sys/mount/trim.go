// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"context"
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

// Trim is made in parts, between which it can be stopped: a file system that is being trimmed cannot be unmounted.
const (
	trimParts    = 64
	leastTrimmed = 1 << 30
)

// Trim tells the disk of a mounted file system which blocks are not used, and returns their size. It may take minutes. When the context ends, so
// does Trim after at most a 64th of the file system, for XFS and ext4; others are trimmed as a whole.
func Trim(ctx context.Context, target string) (uint64, error) {
	dir, err := os.Open(target)
	if err != nil {
		return 0, fmt.Errorf("trim: %w", err)
	}
	defer dir.Close()

	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &fs); err != nil {
		return 0, fmt.Errorf("trim %s: %w", target, err)
	}

	var size uint64
	if fs.Type == unix.XFS_SUPER_MAGIC || fs.Type == unix.EXT4_SUPER_MAGIC {
		size = fs.Blocks * uint64(fs.Bsize)
	}

	var trimmed uint64

	for _, part := range trimRanges(size) {
		if err := ctx.Err(); err != nil {
			return trimmed, fmt.Errorf("trim %s: %w", target, err)
		}

		_, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), fitrim, uintptr(unsafe.Pointer(&part)))

		switch errno {
		case 0:
			trimmed += part.length // the kernel has replaced it
		case unix.EOPNOTSUPP, unix.ENOTTY:
			return trimmed, fmt.Errorf("trim %s: %w", target, ErrNoTrim)
		default:
			return trimmed, fmt.Errorf("trim %s: %w", target, errno)
		}
	}

	return trimmed, nil
}

// trimRanges returns the parts of a file system of a size; it is one part if the size is not known. The last one has no end: a file system is
// larger than the size that it reports, by its journal. The parts are a multiple of leastTrimmed, and so of ext4's groups of blocks, of which
// it remembers only whole ones as trimmed.
func trimRanges(size uint64) []trimRange {
	part := ((max(size, 1)-1)/trimParts/leastTrimmed + 1) * leastTrimmed

	var out []trimRange

	for start := uint64(0); ; start += part {
		if size-start <= part {
			return append(out, trimRange{start: start, length: math.MaxUint64 - start})
		}

		out = append(out, trimRange{start: start, length: part})
	}
}
