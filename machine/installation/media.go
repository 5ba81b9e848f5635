// SPDX-License-Identifier: Apache-2.0

//go:build linux

package installation

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/medium"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/blkid"
	"github.com/seed-59268b81/talos/sys/disk"
)

// booted is the medium that the machine was started from.
type booted struct {
	*medium.Medium
	// disk is the path of its disk, and at where the EFI partition is.
	disk, at string
	// cache is its image cache, or nil.
	cache *install.Source

	open *disk.File
}

func (b *booted) Close() error { return b.open.Close() }

// candidate is a device that may have the EFI partition of the medium.
type candidate struct {
	disk, path string
	// rank is low for one that was certainly started from.
	rank int
}

// candidates are the devices that may have the EFI partition, the likely ones first. partition identifies the one that the firmware started
// from, if it says so.
func candidates(disks []block.DiskSpec, found []block.DiscoveredVolumeSpec, partition string) (out []candidate) {
	isCD := func(path string) bool {
		return slices.ContainsFunc(disks, func(d block.DiskSpec) bool { return d.DevPath == path && d.CDROM })
	}

	for _, v := range found {
		c := candidate{disk: v.ParentDevPath, path: v.DevPath, rank: 2}

		switch {
		case v.Type == block.DeviceTypePartition && v.Name == blkid.VFAT:
			if partition != "" && strings.EqualFold(v.PartitionUUID, partition) {
				c.rank = 0
			}
		case v.Type != block.DeviceTypePartition && (v.Name == blkid.VFAT || isCD(v.DevPath)): // whatever table a CD has, the kernel does not read it
			c.disk = v.DevPath
		default:
			continue
		}

		if slices.ContainsFunc(disks, func(d block.DiskSpec) bool { return d.DevPath == c.disk && d.Readonly }) || isCD(c.disk) {
			c.rank = min(c.rank, 1)
		}

		out = append(out, c)
	}

	slices.SortFunc(out, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.path, b.path)) })

	return out
}

// startedFrom returns the path of the disk with the EFI partition that the firmware started from, or "" if that is not known.
func startedFrom(found []block.DiscoveredVolumeSpec, partition string) string {
	for _, v := range found {
		if partition != "" && strings.EqualFold(v.PartitionUUID, partition) {
			return v.ParentDevPath
		}
	}

	return ""
}

// findMedium returns the medium, or nil if there is none, as on a machine that was started over the network. partition identifies the one that the
// firmware started from.
func (i *Installer) findMedium(disks []block.DiskSpec, found []block.DiscoveredVolumeSpec, partition string) (*booted, error) {
	var unread error

	for _, c := range candidates(disks, found, partition) {
		// What an interrupted installation left has a release, too. It was not started from.
		if c.rank > 0 && unfinished(i.Sys, c.disk) {
			continue
		}

		f, err := disk.Open(c.path, false)
		if err != nil {
			unread = errors.Join(unread, err)

			continue
		}

		m, err := medium.Open(f, int64(f.Size), i.Version)
		if err != nil {
			f.Close()

			if !errors.Is(err, medium.ErrNone) {
				unread = errors.Join(unread, fmt.Errorf("%s: %w", c.path, err))
			}

			continue
		}

		return &booted{Medium: m, disk: c.disk, at: c.path, cache: cmp.Or(m.Cache, cacheOf(c.disk, found)), open: f}, nil
	}

	if unread != nil {
		return nil, fmt.Errorf("look for the medium: %w", unread)
	}

	return nil, nil //nolint:nilnil // a machine that was started over the network has none
}

// unfinished reports whether an installation to a disk was interrupted.
func unfinished(sys, path string) bool {
	d, err := install.Inspect(sys, path)

	return err == nil && d.Unfinished()
}

// cacheOf returns the image cache of a medium, or nil.
func cacheOf(path string, found []block.DiscoveredVolumeSpec) *install.Source {
	for _, v := range found {
		if v.ParentDevPath == path && v.PartitionLabel == layout.PartitionImageCache && v.Size > 0 {
			return &install.Source{Size: int64(v.Size), Open: func() (io.ReadCloser, error) { return disk.Open(v.DevPath, false) }}
		}
	}

	return nil
}
