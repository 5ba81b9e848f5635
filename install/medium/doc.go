// SPDX-License-Identifier: Apache-2.0

// Package medium finds the release on the medium that a machine was started from: a CD, an image on a USB disk, or any other disk with an EFI
// partition. What runs is in memory, with no copy of what the boot loader read. So the release is read from the EFI partition of the medium,
// without mounting it: the unified kernel image of the version that runs, and the boot loader.
//
// The EFI partition is a file system of its own (a partition), or is in an image within the file system of a CD, which the boot catalog of the
// El Torito specification names. A CD that a BIOS has started is read the same way: the kernel and the initramfs are in the unified kernel image,
// and GRUB for the disk is beside it.
//
// The image cache is a partition. The kernel finds those of a disk, but not those of a CD, whose table is read here.
package medium
