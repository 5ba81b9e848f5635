// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
)

// SystemDiskController publishes which disk has META. booted is the identifier of the partition that the machine was started from, or empty.
func SystemDiskController(booted string) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "block.SystemDiskController",
		Reads:          []controller.Input{controller.In[block.DiscoveredVolumeSpec](controller.Weak, "")},
		Writes:         []controller.Output{controller.Out[block.SystemDiskSpec](controller.Exclusive)},
		Cleanup:        []resource.Kind{resource.KindOf[block.SystemDiskSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			found, err := typed.List[block.DiscoveredVolumeSpec](ctx, rt, "")
			if err != nil {
				return err
			}

			var current block.SystemDiskSpec
			if f := typed.Read(ctx, rt, block.SystemDiskID, &current); f.Err != nil {
				return f.Err
			}

			chosen, err := systemDisk(current.DiskID, booted, specsOf(found))
			if err != nil {
				log.Error("the system disk cannot be chosen", "error", err)
			}

			if chosen == nil {
				return nil
			}

			return typed.Set(ctx, rt, "", block.SystemDiskID, *chosen)
		},
	}
}

func specsOf[S resource.Spec](resources []*resource.Typed[S]) []S {
	out := make([]S, 0, len(resources))
	for _, r := range resources {
		out = append(out, *r.TypedSpec())
	}

	return out
}

// systemDisk finds the disk with META. The current one is kept even if another appears. Without a current one, that of two is taken that the
// machine was started from, such as by UEFI. Two are an error if that is neither or, of copies, both.
func systemDisk(current, booted string, found []block.DiscoveredVolumeSpec) (*block.SystemDiskSpec, error) {
	var disks, started []string

	for _, v := range found {
		if booted != "" && strings.EqualFold(v.PartitionUUID, booted) {
			started = append(started, v.Parent)
		}

		if v.PartitionLabel == block.VolumeMeta && v.Size == layout.MetaSize && !slices.Contains(disks, v.Parent) {
			disks = append(disks, v.Parent)
		}
	}

	slices.Sort(disks)

	switch {
	case slices.Contains(disks, current):
		disks = []string{current}
	case len(started) == 1 && slices.Contains(disks, started[0]):
		disks = started
	case len(disks) == 0:
		return nil, nil // no system disk is an answer
	case len(disks) > 1:
		return nil, fmt.Errorf("disks %s each have a META partition: remove or wipe all but one", strings.Join(disks, " and "))
	}

	return &block.SystemDiskSpec{DiskID: disks[0], DevPath: "/dev/" + disks[0]}, nil
}
