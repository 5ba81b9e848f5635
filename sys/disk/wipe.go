// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrInUse is the error for a device that the kernel uses: it is mounted, or part of another device.
var ErrInUse = errors.New("the kernel uses the device: it is mounted, or part of another device")

const (
	// signatureArea is the size of the areas at both ends of a device that have signatures of file systems and partition tables.
	signatureArea = 1 << 20
	// zeroStep is how many bytes are zeroed between two checks of the context.
	zeroStep = 64 << 20
	// discardStep is how many bytes are discarded between two checks of the context.
	discardStep = 16 << 30
)

// OpenUnused opens a device for writing that nothing uses. Others cannot use it while it is open.
func OpenUnused(path string) (*File, error) {
	// The kernel itself opens devices exclusively to mark them as used.
	lock, err := os.OpenFile(path, os.O_RDWR|unix.O_EXCL|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EBUSY) {
		return nil, fmt.Errorf("open %s: %w", path, ErrInUse)
	}

	if err != nil {
		return nil, err
	}

	return measure(lock)
}

// WipeSignatures zeroes both ends of a device, so that no content is recognised on it.
func (f *File) WipeSignatures() error { return wipeSignatures(f, f.Size, f.Sync) }

func wipeSignatures(w io.WriterAt, size uint64, flush func() error) error {
	zeros := make([]byte, min(signatureArea, size))

	for _, offset := range []uint64{0, size - uint64(len(zeros))} {
		if _, err := w.WriteAt(zeros, int64(offset)); err != nil {
			return fmt.Errorf("wipe signatures: %w", err)
		}
	}

	if err := flush(); err != nil {
		return fmt.Errorf("wipe signatures: flush: %w", err)
	}

	return nil
}

// Zero zeroes the whole device; the device itself does it if it can.
func (f *File) Zero(ctx context.Context) error {
	for start := uint64(0); start < f.Size; start += zeroStep {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("zero %s: stopped at %d of %d bytes: %w", f.Name(), start, f.Size, err)
		}

		extent := [2]uint64{start, min(zeroStep, f.Size-start)}
		if err := f.ioctl(unix.BLKZEROOUT, unsafe.Pointer(&extent)); err != nil {
			return fmt.Errorf("zero %s: at %d of %d bytes: %w", f.Name(), start, f.Size, err)
		}
	}

	return f.Sync()
}

// Discard tells the device that its content is not needed. What it returns after that is undefined. The error wraps errors.ErrUnsupported for
// a device that cannot do that.
func (f *File) Discard(ctx context.Context) error {
	for start := uint64(0); start < f.Size; start += discardStep {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("discard %s: stopped at %d of %d bytes: %w", f.Name(), start, f.Size, err)
		}

		extent := [2]uint64{start, min(discardStep, f.Size-start)}
		if err := f.ioctl(unix.BLKDISCARD, unsafe.Pointer(&extent)); err != nil {
			return fmt.Errorf("discard %s: at %d of %d bytes: %w", f.Name(), start, f.Size, err)
		}
	}

	return nil
}

// Udevd opens a device for some milliseconds at each event of it. Until it closes the device, the device is busy.
const (
	idleTries = 20
	idlePause = 50 * time.Millisecond
)

// whenIdle calls change again while the device is busy, for a second at most.
func whenIdle(change func() error) error {
	for range idleTries {
		if err := change(); !errors.Is(err, unix.EBUSY) {
			return err
		}

		time.Sleep(idlePause)
	}

	return change()
}

// ForgetPartitions makes the kernel read the partition table again. No partition may be in use.
func (f *File) ForgetPartitions() error {
	err := whenIdle(func() error { return f.ioctl(unix.BLKRRPART, nil) })
	if err != nil && !errors.Is(err, unix.EINVAL) { // the device has no partitions
		return fmt.Errorf("read the partition table of %s again: %w", f.Name(), err)
	}

	return nil
}

// DropPartition removes a partition from the kernel. It is not an error if the kernel does not have it.
func (f *File) DropPartition(number int) error {
	err := whenIdle(func() error { return f.partition(unix.BLKPG_DEL_PARTITION, number, 0, 0) })
	if err != nil && !errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("drop partition %d of %s: %w", number, f.Name(), err)
	}

	return nil
}
