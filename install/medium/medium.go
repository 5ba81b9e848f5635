// SPDX-License-Identifier: Apache-2.0

package medium

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/sys/gpt"
)

// Medium is a medium with a release. Its sources read it until it is closed.
type Medium struct {
	// ID is the name of the unified kernel image, and Cmdline the command line in it.
	ID, Cmdline string
	// UKI is the unified kernel image, and Loader the boot loader, systemd-boot. Kernel and Initramfs are in UKI.
	UKI, Loader, Kernel, Initramfs install.Source
	// GRUB is for the disk of a machine with a BIOS; nil if the medium is none of a CD image.
	GRUB *install.GRUB
	// Cache is the image cache of a CD, whose partitions the kernel does not find; nil if there is none.
	Cache *install.Source
}

// ErrNone is the error for a device without the release.
var ErrNone = errors.New("there is no such release")

// Open looks for the release of a version on a device: an EFI partition, or a CD.
func Open(device io.ReaderAt, size int64, version string) (*Medium, error) {
	offset, cd, err := efiImage(device, size)
	if err != nil {
		return nil, err
	}

	var cache *install.Source

	if cd {
		cache = cacheOf(device, size)
		device, size = io.NewSectionReader(device, offset, size-offset), size-offset
	}

	esp, err := fat.Open(readOnly{device}, size, time.Time{})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}

	m := &Medium{ID: loader.NewID(version), Cache: cache}

	if m.UKI, err = source(esp, loader.UKIPath(m.ID)); err != nil {
		return nil, err
	}

	if m.Loader, err = source(esp, loader.ProgramPath); err != nil {
		return nil, err
	}

	if m.Cmdline, err = loader.Cmdline(m.UKI); err != nil {
		return nil, err
	}

	if m.Kernel, m.Initramfs, err = loader.Split(m.UKI); err != nil {
		return nil, err
	}

	m.GRUB, err = grub(esp)

	return m, err
}

// cacheOf returns the image cache in the partition table of a CD, whose sectors are those of a disk, or nil.
func cacheOf(device io.ReaderAt, size int64) *install.Source {
	table, err := gpt.Read(device, uint64(size), diskSector)
	if err != nil {
		return nil // a CD needs no table
	}

	p, there := table.Find(layout.PartitionImageCache)
	if !there || p.Last >= table.Sectors {
		return nil
	}

	length := int64(p.Sectors() * diskSector)

	return &install.Source{Size: length, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(device, int64(p.First*diskSector), length)), nil
	}}
}

// diskSector is the size of the sectors of a partition table.
const diskSector = 512

// grub returns GRUB for disks, or nil if it is not there.
func grub(esp *fat.FS) (*install.GRUB, error) {
	boot, err1 := source(esp, loader.GRUBBootPath)
	core, err2 := source(esp, loader.GRUBCorePath)

	switch err := errors.Join(err1, err2); {
	case errors.Is(err, ErrNone):
		return nil, nil //nolint:nilnil // such as a disk image
	case err != nil:
		return nil, err
	default:
		return &install.GRUB{Boot: boot, Core: core}, nil
	}
}

// source returns a file of the EFI partition.
func source(esp *fat.FS, path string) (install.Source, error) {
	_, size, err := esp.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(ErrNone, err)
	}

	return install.Source{Size: size, Open: func() (io.ReadCloser, error) {
		r, _, err := esp.Open(path)

		return io.NopCloser(r), err
	}}, err
}

// readOnly is a device that is not written.
type readOnly struct{ io.ReaderAt }

// errReadOnly is the error of a write, which a reader does not make.
var errReadOnly = errors.New("the medium is only read")

// WriteAt implements fat.Device.
func (readOnly) WriteAt([]byte, int64) (int, error) { return 0, errReadOnly }

// Sync implements fat.Device.
func (readOnly) Sync() error { return nil }
