// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/uevent"
)

// Controllers returns the controllers of the domain, on the real kernel. booted is the identifier of the partition that the machine was started
// from, in lower case, or empty if the firmware does not say. end reboots the machine or switches it off, after a reset that went on at this
// boot.
func Controllers(p platform.Platform, booted string, end func(reboot bool) error) []controller.Controller {
	resume := &ResetAtBoot{World: ResetWorld(p.Owns(platform.Disks), disk.Sys, userDiskPatience), End: end}

	if !p.Owns(platform.Disks) {
		return []controller.Controller{
			VolumeConfigController(folderVolumes()), VolumeManagerController(Partitioner{}, resume, booted), MountController(Folders{}),
			ZswapConfigController(),
		}
	}

	return []controller.Controller{
		&DevicesController{Sys: disk.Sys, Listen: uevent.Listen},
		DisksController(disk.Sys),
		DiscoveryController(Devices{}),
		SystemDiskController(booted),
		VolumeConfigController(systemVolumes()),
		VolumeManagerController(Partitioner{Sys: disk.Sys}, resume, booted),
		MountController(Mounts{}),
		ZswapConfigController(),
		VolumeTrimScheduleController(),
		VolumeTrimController(mount.Trim),
	}
}

// StartVolumes creates the VolumeLifecycle. Without it no volume is mounted.
func StartVolumes(ctx context.Context, st state.State) error {
	return typed.Set(ctx, st, "", block.VolumeLifecycleID, block.VolumeLifecycleSpec{})
}

// StopVolumes tears down the VolumeLifecycle and returns when every volume is unmounted. No volume is mounted after that.
func StopVolumes(ctx context.Context, st state.State) error {
	ptr := resource.PointerOf[block.VolumeLifecycleSpec]("", block.VolumeLifecycleID)

	ready, err := st.Teardown(ctx, ptr)
	if ready || state.IsNotFound(err) {
		return nil
	}

	if err == nil {
		_, err = st.WatchFor(ctx, ptr, state.FinalizersEmpty())
	}

	if err != nil {
		return fmt.Errorf("stop volumes: %w", err)
	}

	return nil
}
