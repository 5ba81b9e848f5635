// SPDX-License-Identifier: Apache-2.0

// Package block holds the resources of disks and volumes: the devices of the kernel, the wanted volumes, and the handshake that mounts
// a volume for a requester (VolumeMountRequest, VolumeMountStatus) and unmounts it after the last one.
package block

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/definition"
)

// NamespaceName of the domain.
const NamespaceName = "runtime"

var domain = definition.Domain{Group: "block.talos.dev", Namespace: NamespaceName}

// The ids of the system's own volumes, which are the labels of their partitions.
const (
	VolumeEFI        = layout.PartitionEFI
	VolumeMeta       = layout.PartitionMeta
	VolumeState      = layout.PartitionState
	VolumeEphemeral  = layout.PartitionEphemeral
	VolumeImageCache = layout.PartitionImageCache
)

// Register makes the domain's types known to this process.
func Register() error {
	return errors.Join(
		resource.Register[DeviceSpec](),
		resource.Register[DiscoveredVolumeSpec](),
		resource.Register[DiskSpec](),
		resource.Register[MountStatusSpec](),
		resource.Register[SystemDiskSpec](),
		resource.Register[VolumeConfigSpec](),
		resource.Register[VolumeLifecycleSpec](),
		resource.Register[VolumeMountRequestSpec](),
		resource.Register[VolumeMountStatusSpec](),
		resource.Register[VolumeStatusSpec](),
		resource.Register[VolumeTrimScheduleSpec](),
	)
}
