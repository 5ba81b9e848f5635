// SPDX-License-Identifier: Apache-2.0

// Package block holds the resources of disks and volumes: what the kernel shows, what is wanted, and the handshake by
// which a volume is mounted for somebody (VolumeMountRequest, VolumeMountStatus) and unmounted when nobody is left.
package block

// NamespaceName of the domain.
const NamespaceName = "runtime"

// The ids of the system's own volumes, which are the labels of their partitions.
const (
	VolumeEFI        = "EFI"
	VolumeMeta       = "META"
	VolumeState      = "STATE"
	VolumeEphemeral  = "EPHEMERAL"
	VolumeImageCache = "IMAGECACHE"
)

// ImageCacheTarget is where IMAGECACHE is mounted.
const ImageCacheTarget = "/system/imagecache"
