// SPDX-License-Identifier: Apache-2.0

// Package image builds the bootable images from third-party programs and our own:
//
//	rootfs.sqsh             the root: squashfs with zstd
//	initramfs.img           two cpio archives in one file: /init and a few modules, compressed with zstd, and the
//	                        root image, which is compressed itself, uncompressed
//	vmlinuz                 the kernel, built and signed by Debian
//	Talos-VERSION.efi       the unified kernel image of these with the command line
//	metal-amd64.raw         a disk for UEFI and BIOS: EFI (systemd-boot and the image above), BIOS (GRUB), BOOT
//	                        (kernel and initramfs, for GRUB), META, IMAGECACHE
//	imagecache.ext4         the file system of the partition IMAGECACHE: the container images of a node
//	installer-amd64         a release: an OCI layout with what a machine installs (package release); only on demand
//	metal-amd64-conformance.raw
//	                        the same with the images of Kubernetes' end-to-end tests; only on demand
//
// Each is a step of the build graph, so it is rebuilt only if an input changed. Images are reproducible: all files
// have one fixed time, names are sorted, and identifiers are derived from contents.
//
// The disk image is as small as possible. A machine's disk is larger: at its first boot, the machine creates STATE
// and EPHEMERAL in the free space after the last partition.
//
// No step needs root: mke2fs and package fat write the file systems, without mounts.
package image

import "time"

// epoch is the time of every file in an image. FAT has no years before 1980.
var epoch = time.Unix(1700000000, 0).UTC()
