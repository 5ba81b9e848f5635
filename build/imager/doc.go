// SPDX-License-Identifier: Apache-2.0

// Package imager makes images of the system for a purpose: a disk of a cloud, a CD, the files for a boot over the network, the image that
// machines install. What it makes them of is the result of make build: the unified kernel image, the boot loader, the file system of the
// container images. No privileges are needed.
//
// A Profile is a value that says what to make; the command imager and a file in YAML are two ways to write one. Profiles have names:
//
//	metal                a disk, packed with zstd
//	iso                  a CD, or a USB stick, that starts by UEFI and by a BIOS
//	installer            what machines upgrade to
//	metal-uki, pxe       files for boots over the network
//	aws, azure, gcp, …   a disk in the form that the cloud takes
//
// The functions of package image make the artifacts, for the build and for this package: the disk of the profile metal has the bytes of
// the build's disk image. The same inputs give the same bytes: times are fixed and identifiers are derived from contents.
//
// # Arguments of the kernel
//
// On a disk, additional arguments and the platform are in a boot entry beside the unified kernel image, which is the one of the build: an
// upgrade passes them on (package loader). In all other artifacts they are in the command line itself.
package imager
