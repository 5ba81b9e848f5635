// SPDX-License-Identifier: Apache-2.0

package install

import (
	"io"

	"github.com/seed-59268b81/talos/sys/blkid"
)

// mark is on the disk while an installation is under way. Of its table, a power cut can leave any sectors; with the mark it is known whose they are.
// It is in the first sector between the boot code and the partitions, where disks without a GUID partition table have a signature.
const (
	mark   = "begun\n"
	markAt = bootCodeSize
)

// unknown is the content of a disk that is neither blank nor known.
const unknown = "unknown data"

// Probe reads what is on a disk with a size and a sector size.
func (d *Disk) Probe(r io.ReaderAt) error {
	info, err := blkid.Probe(r, d.Size, d.SectorSize)
	if err != nil {
		return err
	}

	d.Content, d.Table = info.Name, info.Table

	begun := make([]byte, len(mark))
	if d.Size >= markAt+uint64(len(mark)) {
		if _, err := r.ReadAt(begun, markAt); err != nil {
			return err
		}
	}

	d.Begun = string(begun) == mark

	if info.Name != "" {
		return nil
	}

	blank, err := blkid.Blank(r, d.Size)
	if err == nil && !blank {
		d.Content = unknown
	}

	return err
}
