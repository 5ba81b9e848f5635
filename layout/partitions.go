// SPDX-License-Identifier: Apache-2.0

// Package layout holds the facts about the machine's own file systems: partitions, folders with their modes and owners, and user
// ids. A fact is in no other package, which test/house checks. It contains only data and imports nothing, so the build, the lab,
// process 1 and talosctl can all use it. The sockets and ports of the API are in api/contract.
package layout

// Labels of the system's partitions, which are the ids of their volumes too.
const (
	PartitionEFI        = "EFI"
	PartitionBIOS       = "BIOS"
	PartitionBoot       = "BOOT"
	PartitionMeta       = "META"
	PartitionState      = "STATE"
	PartitionEphemeral  = "EPHEMERAL"
	PartitionImageCache = "IMAGECACHE"
)

// Sizes of partitions, in bytes.
const (
	// EFISize has room for several unified kernel images with many extensions each.
	EFISize = 2101 << 20
	// EFISizeBIOS is that of the EFI partition on a machine that starts from BOOT, by its BIOS. BIOSSize has room for the core of GRUB,
	// and BootSize for several kernels with many extensions each.
	EFISizeBIOS = 100 << 20
	BIOSSize    = 1 << 20
	BootSize    = 2000 << 20
	// EFISizeEither and BootSizeEither are those of a disk that starts by UEFI and by a BIOS. With BIOS, they take as much as EFISize.
	EFISizeEither  = EFISize - BIOSSize - BootSizeEither
	BootSizeEither = 1000 << 20
	// MetaSize is exact: the partition is recognised by it.
	MetaSize  = 1 << 20
	StateSize = 100 << 20
	// EphemeralMinSize is the minimum; the partition grows to the end of the disk.
	EphemeralMinSize = 2 << 30
)
