// SPDX-License-Identifier: Apache-2.0

// Package block holds the resources of disks and volumes: what the kernel shows, what is wanted, and the handshake by
// which a volume is mounted for somebody (VolumeMountRequest, VolumeMountStatus) and unmounted when nobody is left.
package block

import (
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
