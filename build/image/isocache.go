// SPDX-License-Identifier: Apache-2.0

package image

import (
	"fmt"
	"io"
	"os"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/gpt"
)

// addCache adds the image cache to a CD image, behind its file system: a partition IMAGECACHE in its partition table, where the machine finds it
// on a CD as on a disk. The partitions of xorriso that only fill gaps are left out.
func addCache(path, cache, seed string) error {
	if err := appendCache(path, cache, seed); err != nil {
		return fmt.Errorf("add the image cache: %w", err)
	}

	return nil
}

func appendCache(path, cache, seed string) error {
	in, err := os.Open(cache)
	if err != nil {
		return err
	}
	defer in.Close()

	content, err := in.Stat()
	if err != nil {
		return err
	}

	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()

	cd, err := f.Stat()
	if err != nil {
		return err
	}

	first, size := aligned(uint64(cd.Size())), aligned(uint64(content.Size()))

	table, err := tableWith(f, uint64(cd.Size()), first+size+gpt.Alignment, gpt.Partition{
		Number: 2, Type: gpt.TypeLinuxData, ID: identity(layout.PartitionImageCache, seed), Label: layout.PartitionImageCache,
		First: first / sectorSize, Last: (first+size)/sectorSize - 1,
	})
	if err != nil {
		return err
	}

	if err := f.Truncate(int64(table.Sectors * sectorSize)); err != nil {
		return err
	}

	if _, err := io.Copy(io.NewOffsetWriter(f, int64(first)), in); err != nil {
		return err
	}

	if err := table.Write(f); err != nil {
		return err
	}

	return f.Close()
}

// tableWith returns the table of a larger CD image, with its EFI partition and another one.
func tableWith(f io.ReaderAt, oldSize, size uint64, more gpt.Partition) (*gpt.Table, error) {
	old, err := gpt.Read(f, oldSize, sectorSize)
	if err != nil {
		return nil, err
	}

	table, err := gpt.New(size, sectorSize)
	if err != nil {
		return nil, err
	}

	table.ID = old.ID

	for _, p := range old.Partitions {
		if p.Type == gpt.TypeESP {
			p.Number = 1
			table.Partitions = append(table.Partitions, p)
		}
	}

	table.Partitions = append(table.Partitions, more)

	return table, nil
}

func aligned(size uint64) uint64 { return (size + gpt.Alignment - 1) / gpt.Alignment * gpt.Alignment }
