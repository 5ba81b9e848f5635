// SPDX-License-Identifier: Apache-2.0

// Package image makes the bootable images from third-party and our own programs:
//
//	rootfs.sqsh             the root: squashfs with zstd
//	initramfs.img           two cpio archives in one file: /init and a few modules packed with zstd, and the root
//	                        image, which is packed already, plain
//	vmlinuz                 the kernel, as Debian ships and signs it
//	Talos-VERSION.efi       the unified kernel image of these with the command line
//	metal-amd64.raw         a disk: EFI (systemd-boot and the image above), META, IMAGECACHE
//	metal-amd64-conformance.raw
//	                        the same with the images of Kubernetes' end-to-end tests; only on demand
//
// Each is a step of the build graph, so it is made again only when something in it changed. Images are
// reproducible: files have one fixed time, names have one order, identifiers are derived from contents.
//
// The disk image is as small as what is in it. A machine's disk is larger; what is behind the last partition
// is free, and the machine makes STATE and EPHEMERAL there at its first boot.
//
// No step needs root: file systems are filled by mke2fs and mtools, not by mounting.
package image

import "time"

// epoch is the time of every file in an image. FAT knows no earlier year than 1980.
var epoch = time.Unix(1700000000, 0).UTC()
