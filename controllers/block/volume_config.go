// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"log/slog"
	"strings"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/gpt"
)

// The waves in which partitions are created: each uses the space that the earlier waves left.
const (
	waveSystem = iota
	waveEphemeral
)

// systemVolumes returns the volumes of every machine; the id is the label of the partition.
func systemVolumes() map[string]block.VolumeConfigSpec {
	volumes := map[string]block.VolumeConfigSpec{
		block.VolumeMeta: {Locator: block.LocatorSpec{Size: layout.MetaSize}},
		block.VolumeState: {
			Provisioning: provisioned(block.VolumeState, waveSystem, block.PartitionSpec{MinSize: layout.StateSize, MaxSize: layout.StateSize}),
			Mount:        block.MountSpec{TargetPath: layout.StateDir, FileMode: 0o700, Secure: true, NoExec: true},
		},
		block.VolumeEphemeral: {
			Provisioning: provisioned(block.VolumeEphemeral, waveEphemeral, block.PartitionSpec{MinSize: layout.EphemeralMinSize, Grow: true}),
			Mount:        block.MountSpec{TargetPath: layout.VarDir, FileMode: 0o755, Secure: true},
		},
		block.VolumeImageCache: {
			Provisioning: block.ProvisioningSpec{FilesystemSpec: block.FilesystemSpec{Type: block.FilesystemTypeEXT4}},
			Mount: block.MountSpec{
				TargetPath: layout.ImageCacheDir, FileMode: 0o755, Secure: true, NoExec: true,
				Parameters: []block.ParameterSpec{{Type: block.FSParameterTypeBoolean, Name: "ro"}},
			},
		},
	}

	for id, v := range volumes {
		v.Type = block.VolumeTypePartition
		v.Locator.PartitionLabel = id
		volumes[id] = v
	}

	return volumes
}

func provisioned(id string, wave int, p block.PartitionSpec) block.ProvisioningSpec {
	p.Label, p.TypeUUID = id, strings.ToUpper(gpt.TypeLinuxData.String())

	return block.ProvisioningSpec{
		PartitionSpec: p, Wave: wave,
		FilesystemSpec: block.FilesystemSpec{Type: block.FilesystemTypeXFS, Label: id},
	}
}

// VolumeConfigController publishes the system's own volumes. They do not depend on the machine configuration, which is stored on one.
func VolumeConfigController(volumes map[string]block.VolumeConfigSpec) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "block.VolumeConfigController",
		Writes:         []controller.Output{controller.Out[block.VolumeConfigSpec](controller.Shared)},
		Cleanup:        []resource.Kind{resource.KindOf[block.VolumeConfigSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			for id, spec := range volumes {
				if err := typed.Set(ctx, rt, "", id, spec); err != nil {
					return err
				}
			}

			return nil
		},
	}
}
