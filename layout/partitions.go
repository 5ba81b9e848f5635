// SPDX-License-Identifier: Apache-2.0

// Package layout holds the facts of the machine's own file systems: partitions, folders with their modes and owners, and user
// ids. A fact stands here and nowhere else; test/house holds that. It is data only, and imports nothing, so that the build, the
// lab, process 1 and a laptop can all use it. The sockets and ports of the API are in api/contract.
package layout

// Labels of the system's partitions, which are the ids of their volumes too.
const (
	PartitionEFI        = "EFI"
	PartitionMeta       = "META"
	PartitionState      = "STATE"
	PartitionEphemeral  = "EPHEMERAL"
	PartitionImageCache = "IMAGECACHE"
)

// Sizes of partitions, in bytes.
const (
	// EFISize leaves room for several unified kernel images with many extensions each.
	EFISize = 2101 << 20
	// MetaSize is exact: it is part of how the partition is recognised.
	MetaSize  = 1 << 20
	StateSize = 100 << 20
	// EphemeralMinSize is the least; the partition grows to the end of the disk.
	EphemeralMinSize = 2 << 30
)
