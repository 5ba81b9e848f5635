// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/install/reset"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/gpt"
)

// ResetDisks is the World of a reset on a machine with disks.
type ResetDisks struct {
	// Sys is the mount point of sysfs, and System the path of the system disk.
	Sys, System string
	// Values are those of META.
	Values reset.Meta
	// Patience is how long a disk of users may take to appear.
	Patience time.Duration
	// Wiped is told the path of each partition that was wiped.
	Wiped func(path string)
}

// Meta implements reset.World.
func (w *ResetDisks) Meta() reset.Meta { return w.Values }

// Partition implements reset.World. The labels are those on the disk: of a partition that was created after the boot, the kernel has none.
func (w *ResetDisks) Partition(ctx context.Context, label string) error {
	numbers, err := labelled(w.System, label)
	if err != nil {
		return err
	}

	devices, err := disk.Scan(w.Sys)
	if err != nil {
		return err
	}

	for _, number := range numbers {
		i := slices.IndexFunc(devices, func(d disk.Device) bool {
			return d.Partition == number && d.Parent == filepath.Base(w.System)
		})
		if i < 0 {
			return fmt.Errorf("the kernel has no device of partition %d of %s", number, w.System)
		}

		if err := w.erase(ctx, devices[i].Name, devices[i].Path, label, false); err != nil {
			return err
		}

		if w.Wiped != nil {
			w.Wiped(devices[i].Path)
		}
	}

	return nil
}

// labelled returns the numbers of the partitions of a disk with a label.
func labelled(path, label string) (numbers []int, err error) {
	f, err := disk.Open(path, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	table, err := gpt.Read(f, f.Size, f.SectorSize)
	if err != nil {
		return nil, fmt.Errorf("partition table of %s: %w", path, err)
	}

	for _, p := range table.Partitions {
		if p.Label == label {
			numbers = append(numbers, p.Number)
		}
	}

	return numbers, nil
}

// Disk implements reset.World.
func (w *ResetDisks) Disk(ctx context.Context, wanted reset.Disk) error {
	for start := time.Now(); ; {
		found, err := FindDisks(w.Sys)
		if err != nil {
			return err
		}

		if i := slices.IndexFunc(found, func(d reset.SeenDisk) bool { return wanted.Is(d.Disk) }); i >= 0 {
			path := found[i].Path
			if path == w.System {
				return fmt.Errorf("%s is the system disk now: %w", path, reset.ErrMissing)
			}

			return w.erase(ctx, filepath.Base(path), path, "", true)
		}

		if time.Since(start) >= w.Patience {
			return reset.ErrMissing
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(diskRetry):
		}
	}
}

// diskRetry is the pause before a disk is looked for again.
const diskRetry = 500 * time.Millisecond

// Table implements reset.World.
func (w *ResetDisks) Table(ctx context.Context) error {
	f, err := openIdle(ctx, w.System)
	if err != nil {
		return err
	}
	defer f.Close()

	// The kernel keeps the old partitions while one is open; the machine ends anyway.
	return f.WipeSignatures()
}

func (w *ResetDisks) erase(ctx context.Context, name, path, label string, whole bool) error {
	f, err := openIdle(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()

	if err := reset.Erase(ctx, f, label); err != nil {
		return err
	}

	if whole {
		if err := f.ForgetPartitions(); err != nil {
			return err
		}
	}

	if err := disk.Notify(w.Sys, name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}

	return nil
}

// openIdle opens a device that nothing uses. Udevd uses a device for some milliseconds after each change of it.
func openIdle(ctx context.Context, path string) (f *disk.File, err error) {
	for range 20 {
		if f, err = disk.OpenUnused(path); !errors.Is(err, disk.ErrInUse) {
			return f, err
		}

		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}

	return nil, err
}

// FindDisks returns the block devices that are not partitions, with all their names, and why they cannot be wiped.
func FindDisks(sys string) ([]reset.SeenDisk, error) {
	devices, err := disk.Scan(sys)
	if err != nil {
		return nil, err
	}

	var out []reset.SeenDisk

	for _, d := range devices {
		if d.Partition > 0 {
			continue
		}

		id, err := disk.Identify(sys, d.Name)
		if errors.Is(err, os.ErrNotExist) {
			continue // it was removed
		}

		if err != nil {
			return nil, err
		}

		seen := reset.SeenDisk{Disk: reset.Disk{
			Path: d.Path, WWID: id.WWID, Serial: id.Serial, UUID: id.UUID, BusPath: id.BusPath, Size: id.Size,
		}}

		users := slices.IndexFunc(devices, func(user disk.Device) bool {
			return slices.Contains(user.Secondaries, d.Name) || slices.ContainsFunc(devices, func(p disk.Device) bool {
				return p.Parent == d.Name && slices.Contains(user.Secondaries, p.Name)
			})
		})

		switch {
		case id.ReadOnly || id.CDROM:
			seen.Unfit = "it is read-only"
		case users >= 0:
			seen.Unfit = fmt.Sprintf("it is part of device %s; remove that device first", devices[users].Name)
		}

		out = append(out, seen)
	}

	return out, nil
}

// Busy returns why a device cannot be wiped now, or nothing.
func Busy(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)

	switch {
	case errors.Is(err, unix.EBUSY):
		return disk.ErrInUse.Error()
	case err != nil:
		return err.Error()
	}

	if err := f.Close(); err != nil {
		return err.Error()
	}

	return ""
}
