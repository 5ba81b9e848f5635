// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"errors"
	"os"

	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/efivar"
)

// bootLoader returns the boot loader on the system disk.
func bootLoader(st state.State, vars efivar.Dir) *loader.Installed {
	return &loader.Installed{
		Vars: vars,
		Open: func() (loader.Partition, int64, error) {
			// The folder is the kernel's: without UEFI it is not there.
			if _, err := os.Stat(string(vars)); err != nil {
				return nil, 0, errors.New("the machine was not started by UEFI firmware")
			}

			path, err := efiPartition(context.Background(), st)
			if err != nil {
				return nil, 0, err
			}

			// Nothing mounts it while it is open.
			f, err := disk.OpenUnused(path)
			if err != nil {
				return nil, 0, err
			}

			return f, int64(f.Size), nil
		},
	}
}

// efiPartition returns the path of the EFI partition on the system disk.
func efiPartition(ctx context.Context, st state.State) (string, error) {
	system, err := typed.Find[block.SystemDiskSpec](ctx, st, "", block.SystemDiskID)
	if err != nil {
		return "", err
	}

	if system == nil {
		return "", errors.New("no disk has the system: see talosctl get systemdisk")
	}

	found, err := typed.List[block.DiscoveredVolumeSpec](ctx, st, "")
	if err != nil {
		return "", err
	}

	for _, r := range found {
		if v := r.TypedSpec(); v.PartitionLabel == layout.PartitionEFI && v.Parent == system.TypedSpec().DiskID {
			return v.DevPath, nil
		}
	}

	return "", errors.New("the system disk has no partition " + layout.PartitionEFI)
}
