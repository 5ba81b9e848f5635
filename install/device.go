// SPDX-License-Identifier: Apache-2.0

//go:build linux

package install

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/seed-59268b81/talos/sys/disk"
)

// Inspect returns what is known of a disk of this machine. sys is where sysfs is mounted.
func Inspect(sys, path string) (Disk, error) {
	d, err := identify(sys, path)
	if err != nil {
		return Disk{}, err
	}

	f, err := disk.Open(path, false)
	if err != nil {
		return Disk{}, fmt.Errorf("inspect %s: %w", path, err)
	}
	defer f.Close()

	if err := d.look(f); err != nil {
		return Disk{}, fmt.Errorf("inspect %s: %w", path, err)
	}

	if d.ReadOnly {
		return d, nil
	}

	unused, err := disk.OpenUnused(path)
	if errors.Is(err, disk.ErrInUse) {
		d.Users = []string{"the kernel: it is mounted, or part of another device"}

		return d, nil
	}

	if err != nil {
		return Disk{}, fmt.Errorf("inspect %s: %w", path, err)
	}

	return d, unused.Close()
}

func identify(sys, path string) (Disk, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Disk{}, fmt.Errorf("inspect disk: %w", err)
	}

	id, err := disk.Identify(sys, filepath.Base(real))
	if err != nil {
		return Disk{}, err
	}

	return Disk{Name: path, ReadOnly: id.ReadOnly, CDROM: id.CDROM}, nil
}

// look reads what is on an open disk.
func (d *Disk) look(f *disk.File) error {
	d.Size, d.SectorSize = f.Size, f.SectorSize

	return d.Probe(f)
}

// ErrNotRead is the error for an installed system whose partitions the kernel does not have.
var ErrNotRead = errors.New("the system is installed, and the kernel does not have its partitions: restart the machine from the disk")

// To installs to a disk of this machine, which nothing else can use meanwhile.
func To(ctx context.Context, sys, path string, r Request, c Content, progress func(text string)) error {
	d, err := identify(sys, path)
	if err != nil {
		return err
	}

	if d.ReadOnly || d.CDROM { // it cannot be opened for writing
		return fmt.Errorf("install to %s: %w", path, d.usable(r))
	}

	f, err := disk.OpenUnused(path)
	if err != nil {
		return fmt.Errorf("install to %s: %w", path, err)
	}
	defer f.Close()

	if err := d.look(f); err != nil {
		return fmt.Errorf("install to %s: %w", path, err)
	}

	plan, err := For(d, r)
	if err != nil {
		return err
	}

	if err := Write(ctx, f, plan, c, progress); err != nil {
		return err
	}

	if err := f.ForgetPartitions(); err != nil {
		return fmt.Errorf("install to %s: %w: %w", path, ErrNotRead, err)
	}

	return nil
}
