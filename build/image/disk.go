// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/version"
)

const sectorSize = 512

// diskStep creates the disk image with the image cache of the step cache.
func diskStep(o Options, target, about, cache, published string) graph.Step {
	name := filepath.Base(published)

	return graph.Step{
		Name:   target,
		About:  about,
		Needs:  []string{artifact.TargetUKI, cache, artifact.TargetBoot},
		Inputs: o.inputs(version.Tag),
		Run: func(ctx context.Context, w *graph.Work) error {
			return makeDisk(ctx, filepath.Join(w.Dir, name), diskParts{
				loader:  filepath.Join(w.Needs[artifact.TargetBoot].Dir, artifact.SystemdBoot),
				uki:     filepath.Join(w.Needs[artifact.TargetUKI].Dir, ukiName),
				cache:   filepath.Join(w.Needs[cache].Dir, "imagecache.ext4"),
				espSize: layout.EFISize,
				seed:    w.Needs[artifact.TargetUKI].Digest + w.Needs[cache].Digest + w.Needs[artifact.TargetBoot].Digest,
			})
		},
		Publish: map[string]string{name: published},
	}
}

// diskParts are the parts of a disk image. Identifiers are derived from seed.
type diskParts struct {
	loader, uki, cache string
	seed               string
	espSize            int64
}

func makeDisk(ctx context.Context, path string, parts diskParts) error {
	info, err := os.Stat(parts.cache)
	if err != nil {
		return fmt.Errorf("image cache: %w", err)
	}

	table, err := planDisk(parts.espSize, info.Size(), parts.seed)
	if err != nil {
		return err
	}

	disk, err := os.Create(path)
	if err != nil {
		return err
	}
	defer disk.Close()

	if err := disk.Truncate(int64(table.Sectors * sectorSize)); err != nil {
		return err
	}

	if err := table.Write(disk); err != nil {
		return err
	}

	cache, _ := table.Find(layout.PartitionImageCache)
	if err := copySparse(disk, int64(cache.First*sectorSize), parts.cache); err != nil {
		return err
	}

	if err := disk.Close(); err != nil {
		return err
	}

	tmp, remove, err := scratch(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer remove()

	files, err := bootFiles(tmp, parts.loader, parts.uki)
	if err != nil {
		return err
	}

	esp, _ := table.Find(layout.PartitionEFI)
	serial := fmt.Sprintf("%.4x", identity("serial", parts.seed))

	return makeESP(ctx, path, int64(esp.First*sectorSize), int64(esp.Sectors()*sectorSize), serial[:8], files)
}

// planDisk returns the partition table of the smallest disk that fits.
func planDisk(efi, cacheSize int64, seed string) (*gpt.Table, error) {
	cacheSize = (cacheSize + gpt.Alignment - 1) / gpt.Alignment * gpt.Alignment

	// One megabyte before the first partition, and one after the last for the backup table.
	table, err := gpt.New(uint64(efi+layout.MetaSize+cacheSize+2*gpt.Alignment), sectorSize)
	if err != nil {
		return nil, err
	}

	table.ID = identity("disk", seed)

	for _, p := range []struct {
		label string
		typ   gpt.GUID
		size  uint64
	}{
		{layout.PartitionEFI, gpt.TypeESP, uint64(efi)},
		{layout.PartitionMeta, gpt.TypeLinuxData, layout.MetaSize},
		{layout.PartitionImageCache, gpt.TypeLinuxData, uint64(cacheSize)},
	} {
		_, err := table.Add(gpt.Partition{Label: p.label, Type: p.typ, ID: identity(p.label, seed)}, p.size, p.size)
		if err != nil {
			return nil, fmt.Errorf("disk image: %w", err)
		}
	}

	return table, nil
}

// copySparse copies a file into another at an offset. It skips blocks of zeros: the target has a hole there.
func copySparse(target io.WriterAt, offset int64, source string) error {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()

	block, zeros := make([]byte, 64<<10), make([]byte, 64<<10)

	for {
		n, err := io.ReadFull(in, block)
		if n > 0 && string(block[:n]) != string(zeros[:n]) {
			if _, err := target.WriteAt(block[:n], offset); err != nil {
				return err
			}
		}

		offset += int64(n)

		if err == io.EOF || err == io.ErrUnexpectedEOF { // ReadFull does not wrap these
			return nil
		} else if err != nil {
			return fmt.Errorf("copy %s: %w", source, err)
		}
	}
}
