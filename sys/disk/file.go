// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// File is an open block device.
type File struct {
	*os.File
	// Size, SectorSize (the logical one) and IOSize (the smallest efficient I/O) are in bytes.
	Size, SectorSize, IOSize uint64
}

// Open opens a device for reading, or for reading and writing.
func Open(path string, write bool) (*File, error) {
	mode := os.O_RDONLY
	if write {
		mode = os.O_RDWR
	}

	f, err := os.OpenFile(path, mode|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}

	return measure(f)
}

// measure reads the sizes of an open device. It closes the device on an error.
func measure(f *os.File) (*File, error) {
	out := &File{File: f}

	sector, err1 := unix.IoctlGetInt(int(f.Fd()), unix.BLKSSZGET)
	io, err2 := unix.IoctlGetInt(int(f.Fd()), unix.BLKIOMIN)
	err3 := out.ioctl(unix.BLKGETSIZE64, unsafe.Pointer(&out.Size))

	if err := errors.Join(err1, err2, err3); err != nil {
		f.Close()

		return nil, fmt.Errorf("size of %s: %w", f.Name(), err)
	}

	// IoctlGetInt reads the kernel's 32 bits.
	out.SectorSize, out.IOSize = uint64(uint32(sector)), uint64(uint32(io))

	return out, nil
}

func (f *File) ioctl(request uintptr, arg unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(arg))
	if errno != 0 {
		return errno
	}

	return nil
}

// AddPartition adds a partition of the disk to the kernel; start and length are in bytes. If the kernel already has it, it is resized.
func (f *File) AddPartition(number int, start, length uint64) error {
	err := f.partition(unix.BLKPG_ADD_PARTITION, number, start, length)
	if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EEXIST) {
		return f.ResizePartition(number, start, length)
	}

	if err != nil {
		return fmt.Errorf("add partition %d of %s: %w", number, f.Name(), err)
	}

	return nil
}

// ResizePartition tells the kernel the new length of a partition, which may be in use.
func (f *File) ResizePartition(number int, start, length uint64) error {
	if err := f.partition(unix.BLKPG_RESIZE_PARTITION, number, start, length); err != nil {
		return fmt.Errorf("resize partition %d of %s: %w", number, f.Name(), err)
	}

	return nil
}

func (f *File) partition(op int32, number int, start, length uint64) error {
	p := unix.BlkpgPartition{Start: int64(start), Length: int64(length), Pno: int32(number)}
	arg := unix.BlkpgIoctlArg{Op: op, Datalen: int32(unsafe.Sizeof(p)), Data: (*byte)(unsafe.Pointer(&p))}

	return f.ioctl(unix.BLKPG, unsafe.Pointer(&arg))
}
