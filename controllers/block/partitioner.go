// SPDX-License-Identifier: Apache-2.0

package block

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/blkid"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/gpt"
)

// Partitioner is the Provisioner for real disks.
type Partitioner struct {
	// Sys is the mount point of sysfs.
	Sys string
}

// CreatePartition implements Provisioner.
func (p Partitioner) CreatePartition(_ context.Context, path string, spec block.PartitionSpec) error {
	return p.edit(path, func(f *disk.File, t *gpt.Table) (gpt.Partition, error) {
		part, there := t.Find(spec.Label)
		if there {
			return part, nil
		}

		part, err := addPartition(t, spec)
		if err != nil {
			return part, err
		}

		// Remains of an older partition must not be taken for the volume's contents.
		if err := wipe(f, part.First*t.SectorSize, part.Sectors()*t.SectorSize); err != nil {
			return part, err
		}

		return part, t.Write(f)
	})
}

// GrowPartition implements Provisioner.
func (p Partitioner) GrowPartition(_ context.Context, path string, spec block.PartitionSpec) error {
	return p.edit(path, func(f *disk.File, t *gpt.Table) (gpt.Partition, error) {
		part, there := t.Find(spec.Label)
		if !there {
			return part, fmt.Errorf("partition %q is missing", spec.Label)
		}

		part, grown, err := t.Grow(part.Number, spec.MaxSize)
		if err != nil || !grown {
			return part, err
		}

		return part, t.Write(f)
	})
}

// edit changes the partition table of a disk, and updates the kernel with the one partition that change returns.
func (p Partitioner) edit(path string, change func(*disk.File, *gpt.Table) (gpt.Partition, error)) error {
	f, err := disk.Open(path, true)
	if err != nil {
		return err
	}
	defer f.Close()

	t, err := gpt.Read(f, f.Size, f.SectorSize)
	if err != nil {
		return fmt.Errorf("disk %s: %w", path, err)
	}

	part, err := change(f, t)
	if err != nil {
		return fmt.Errorf("disk %s: %w", path, err)
	}

	if err := f.AddPartition(part.Number, part.First*t.SectorSize, part.Sectors()*t.SectorSize); err != nil {
		return err
	}

	return disk.Notify(p.Sys, filepath.Base(path))
}

// wipeSize covers signatures, which are at the start, or at the end (RAID, a backup partition table).
const wipeSize = 1 << 20

func wipe(f *disk.File, start, length uint64) error {
	zeros := make([]byte, min(wipeSize, length))

	for _, offset := range []uint64{start, start + length - uint64(len(zeros))} {
		if _, err := f.WriteAt(zeros, int64(offset)); err != nil {
			return fmt.Errorf("wipe: %w", err)
		}
	}

	if err := f.Sync(); err != nil {
		return fmt.Errorf("wipe: flush: %w", err)
	}

	return nil
}

// Format implements Provisioner.
func (p Partitioner) Format(ctx context.Context, path string, spec block.FilesystemSpec) error {
	if err := format(ctx, path, spec); err != nil {
		return fmt.Errorf("format %s: %w", path, err)
	}

	return disk.Notify(p.Sys, filepath.Base(path))
}

func format(ctx context.Context, path string, spec block.FilesystemSpec) error {
	if spec.Type != block.FilesystemTypeXFS {
		return fmt.Errorf("%s is not supported", spec.Type)
	}

	// The defaults of mkfs.xfs fit the kernel. The partition was created on unused space, so nothing needs to be discarded. STATE
	// is smaller than mkfs.xfs supports.
	cmd := exec.CommandContext(ctx, "/usr/sbin/mkfs.xfs", "-q", "-f", "-K", "--unsupported", "-L", blkid.Unfinished, path)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mkfs.xfs: %w: %s", err, bytes.TrimSpace(out))
	}

	return finish(path, spec.Label)
}

func finish(path, label string) (err error) {
	f, err := disk.Open(path, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	return blkid.Finish(f, label)
}

// Formatted implements Provisioner. Remains of an interrupted mkfs count as empty.
func (p Partitioner) Formatted(path string, spec block.FilesystemSpec) (bool, error) {
	done, err := formatted(path, spec)
	if err != nil {
		return false, fmt.Errorf("format %s: %w", path, err)
	}

	if done {
		err = disk.Notify(p.Sys, filepath.Base(path))
	}

	return done, err
}

func formatted(path string, spec block.FilesystemSpec) (bool, error) {
	f, err := disk.Open(path, false)
	if err != nil {
		return false, err
	}
	defer f.Close()

	info, err := blkid.Probe(f, f.Size, f.SectorSize)
	if err != nil {
		return false, err
	}

	if info.Name != "" {
		if info.Name == spec.Type.String() {
			return true, nil
		}

		return false, fmt.Errorf("it holds %s", info.Name)
	}

	unformatted, err := blkid.Unformatted(f, f.Size)
	if err == nil && !unformatted {
		err = fmt.Errorf("it holds unknown data; wipe the partition to have it formatted again")
	}

	return false, err
}
