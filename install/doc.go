// SPDX-License-Identifier: Apache-2.0

// Package install puts the system onto a disk, for a machine that was started from another medium and for the build of disk images.
//
// For is a pure function from what is known of a disk to a plan, or to the reason why the system cannot be there: it is checked before
// anything is written. Write carries out a plan:
//
//	both ends of the disk are zeroed      whatever was there is gone; the first sector has a mark, and EFI no file system
//	the partition table, without META
//	the contents of all partitions        each is read back and compared with its digest; EFI is the last
//	the boot code of a BIOS
//	the partition table, with META        the disk has a system from now on
//	the mark is removed
//
// A power cut before there is META leaves a disk that belongs to no one: the system looks for META, and For accepts such a disk without
// a permission to wipe. It knows the disk by the mark, since a table that was cut is anything, and other systems have partitions EFI, too.
// The disk starts nothing, except after a cut in the last moment: between the last file of EFI, or the boot code, and META.
//
// STATE and EPHEMERAL are created by the machine at its first boot, in the space after the last partition.
//
// The boot partitions are written by package fat, so nothing needs to be mounted, and an image file needs no privileges.
package install
