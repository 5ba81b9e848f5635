// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/blkid"
	"github.com/seed-59268b81/talos/sys/disk"
)

// Prober reads what is on a device.
type Prober interface {
	Probe(path string) (Probed, error)
}

// Probed is what is on a device.
type Probed struct {
	blkid.Info

	DeviceSize, LogicalSector, IOSize uint64
}

// Devices probes real devices.
type Devices struct{}

// Probe implements Prober.
func (Devices) Probe(path string) (Probed, error) {
	f, err := disk.Open(path, false)
	if err != nil {
		return Probed{}, err
	}
	defer f.Close()

	info, err := blkid.Probe(f, f.Size, f.SectorSize)
	if err != nil {
		return Probed{}, fmt.Errorf("probe %s: %w", path, err)
	}

	return Probed{info, f.Size, f.SectorSize, f.IOSize}, nil
}

// DiscoveryController publishes what is on each disk and partition. It probes a disk and its partitions again when the kernel has
// announced a change of one of them.
func DiscoveryController(prober Prober) controller.Controller {
	d := &discovery{prober: prober, seen: map[string]string{}}

	return &controller.Reconciler{
		ControllerName: "block.DiscoveryController",
		Reads:          []controller.Input{controller.In[block.DeviceSpec](controller.Weak, "")},
		Writes:         []controller.Output{controller.Out[block.DiscoveredVolumeSpec](controller.Exclusive)},
		Cleanup:        []resource.Kind{resource.KindOf[block.DiscoveredVolumeSpec]("")},
		Reconcile:      d.reconcile,
	}
}

type discovery struct {
	prober Prober
	// seen has, by disk, the generations of it and its partitions at the last probe.
	seen map[string]string
}

func (d *discovery) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	devices, err := typed.List[block.DeviceSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	groups, seen := map[string][]*resource.Typed[block.DeviceSpec]{}, map[string]string{}

	for _, dev := range devices {
		id, spec := dev.Metadata().ID(), dev.TypedSpec()

		group := id
		if spec.Type == block.DeviceTypePartition {
			group = spec.Parent
		}

		groups[group] = append(groups[group], dev)
		seen[group] += fmt.Sprintf("%s@%d ", id, spec.Generation)
	}

	for group, members := range groups {
		if d.seen[group] == seen[group] {
			for _, m := range members {
				// Written unchanged, so that it is not cleaned up.
				if err := typed.Modify(ctx, rt, "", m.Metadata().ID(), func(*block.DiscoveredVolumeSpec) error { return nil }); err != nil {
					return err
				}
			}

			continue
		}

		for id, spec := range d.probe(group, members, log) {
			if err := typed.Set(ctx, rt, "", id, spec); err != nil {
				return err
			}
		}
	}

	d.seen = seen

	return nil
}

// probe probes a disk and its partitions. A device that cannot be read is published as empty.
func (d *discovery) probe(diskID string, members []*resource.Typed[block.DeviceSpec], log *slog.Logger) map[string]block.DiscoveredVolumeSpec {
	found := map[string]Probed{}

	for _, m := range members {
		p, err := d.prober.Probe(m.TypedSpec().DevicePath)
		if err != nil {
			log.Warn("a device cannot be read", "device", m.TypedSpec().DevicePath, "error", err)
		}

		found[m.Metadata().ID()] = p
	}

	out := map[string]block.DiscoveredVolumeSpec{}
	for _, m := range members {
		out[m.Metadata().ID()] = discovered(m.TypedSpec(), found[m.Metadata().ID()], diskID, found[diskID])
	}

	return out
}

// discovered returns the resource of a device, from what is on it and, for a partition, in its disk's table.
func discovered(device *block.DeviceSpec, found Probed, diskID string, parent Probed) block.DiscoveredVolumeSpec {
	v := block.DiscoveredVolumeSpec{
		Type: device.Type, DevicePath: device.DevicePath, DevPath: device.DevicePath,
		Size: found.DeviceSize, PrettySize: block.PrettySize(found.DeviceSize), SectorSize: found.LogicalSector, IOSize: found.IOSize,
		Name: found.Name, Label: found.Label, UUID: found.UUID, ProbedSize: found.Size,
		BlockSize: found.SectorSize, FilesystemBlockSize: found.BlockSize,
	}

	if device.Type != block.DeviceTypePartition {
		return v
	}

	v.Parent, v.ParentDevPath = diskID, "/dev/"+diskID
	v.PartitionIndex = uint(device.PartitionNumber)

	if parent.Table == nil {
		return v
	}

	for _, p := range parent.Table.Partitions {
		if p.Number == device.PartitionNumber {
			v.PartitionLabel, v.PartitionUUID, v.PartitionType = p.Label, p.ID.String(), p.Type.String()
			v.Offset = p.First * parent.Table.SectorSize
		}
	}

	return v
}
