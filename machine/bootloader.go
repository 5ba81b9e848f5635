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

// bootLoader returns the boot loader on the system disk: systemd-boot if UEFI firmware has started the machine, and GRUB otherwise.
func bootLoader(st state.State, vars efivar.Dir, cmdline string) (*loader.Installed, error) {
	line, err := os.ReadFile(cmdline)
	if err != nil {
		return nil, err
	}

	label, missing := layout.PartitionEFI, ""

	// The folder is the kernel's: without UEFI it is not there.
	_, err = os.Stat(string(vars))
	bios := err != nil

	if bios {
		label, missing = layout.PartitionBoot, ", and the machine was not started by UEFI firmware"
	}

	return &loader.Installed{
		Vars: vars, BIOS: bios, Cmdline: string(line),
		Open: func() (loader.Partition, int64, error) {
			path, err := bootPartition(context.Background(), st, label, missing)
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
	}, nil
}

// bootPartition returns the path of a partition of the system disk. missing is added to the error if there is none.
func bootPartition(ctx context.Context, st state.State, label, missing string) (string, error) {
	system, err := typed.Find[block.SystemDiskSpec](ctx, st, "", block.SystemDiskID)
	if err != nil {
		return "", err
	}

	if system == nil {
		return "", loader.ErrNoSystem
	}

	found, err := typed.List[block.DiscoveredVolumeSpec](ctx, st, "")
	if err != nil {
		return "", err
	}

	for _, r := range found {
		if v := r.TypedSpec(); v.PartitionLabel == label && v.Parent == system.TypedSpec().DiskID {
			return v.DevPath, nil
		}
	}

	return "", errors.New("the system disk has no partition " + label + missing)
}
