// SPDX-License-Identifier: Apache-2.0

package hosttools

import "slices"

// Use is a purpose of tools.
type Use string

// The uses. Build builds the images; Lab runs a cluster in virtual machines or containers; Test is for tests and make's other
// targets; Fresh is for make fresh.
const (
	Build Use = "build"
	Lab   Use = "lab"
	Test  Use = "test"
	Fresh Use = "fresh"
)

// Uses are all uses.
var Uses = []Use{Build, Lab, Test, Fresh}

// Tool is a program or file that must be installed, and its package.
type Tool struct {
	// Name is a program in PATH or the system's sbin folders, or an absolute path of a file.
	Name string
	// Package is the Debian package, or "" if there is none.
	Package string
	Use     Use
	For     string
}

// Tools are all programs and files that this project uses on its host. Package house checks that every program that code
// and scripts run is here, and that every program here is used.
//
// The table includes programs that every Debian has (apt, coreutils, dpkg, mawk), for hosts with other distributions.
var Tools = []Tool{
	{"go", "", Build, "everything; install it from https://go.dev/dl"},
	{"make", "make", Build, "the Makefile"},
	{"git", "git", Build, "the version of the build, and the list of the project's files"},
	{"dirname", "coreutils", Build, "scripts"},
	{"rm", "coreutils", Build, "make clean"},
	{"awk", "mawk", Build, "make help"},
	{"apt-config", "apt", Fresh, "the proxies that apt uses"},
	{"apt-cache", "apt", Build, "which version of a package Debian has"},
	{"apt-get", "apt", Build, "the packages for the images, and those of this table"},
	{"dpkg-deb", "dpkg", Build, "unpacking packages"},
	{"gcc", "gcc", Build, "runc and pause"},
	{"/usr/include/stdio.h", "libc6-dev", Build, "runc and pause"},
	{"/usr/include/seccomp.h", "libseccomp-dev", Build, "runc"},
	{"pkg-config", "pkg-config", Build, "runc"},
	{"depmod", "kmod", Build, "the kernel modules"},
	{"mksquashfs", "squashfs-tools", Build, "the root image"},
	{"mke2fs", "e2fsprogs", Build, "the image cache's partition"},
	{"debugfs", "e2fsprogs", Build, "the image cache's partition"},
	{"mkfs.erofs", "erofs-utils", Build, "the image cache's layers"},
	{"xorriso", "xorriso", Build, "CD images"},

	{"qemu-system-x86_64", "qemu-system-x86", Lab, "the machines"},
	{"mcopy", "mtools", Lab, "the machines' boot entries"},
	{"qemu-img", "qemu-utils", Lab, "the machines' disks"},
	{"unsquashfs", "squashfs-tools", Lab, "the root image of containers"},
	{"newuidmap", "uidmap", Lab, "containers without root"},
	{"newgidmap", "uidmap", Lab, "containers without root"},

	{"as", "binutils", Test, "the guest that probes for KVM"},
	{"ld", "binutils", Test, "the guest that probes for KVM"},
	{"cpio", "cpio", Test, "reading the initramfs"},
	{"cryptsetup", "cryptsetup-bin", Test, "samples of encrypted volumes"},
	{"dot", "graphviz", Test, "the graph of dependencies"},
	{"e2fsck", "e2fsprogs", Test, "the image cache's partition"},
	{"gofmt", "", Test, "make lint; it comes with Go, from https://go.dev/dl"},
	{"ip", "iproute2", Test, "networks in namespaces"},
	{"losetup", "mount", Test, "disks"},
	{"mformat", "mtools", Test, "file systems that others wrote"},
	{"mkfs.ext4", "e2fsprogs", Test, "samples of file systems"},
	{"mkfs.vfat", "dosfstools", Test, "samples of file systems"},
	{"mkfs.xfs", "xfsprogs", Test, "volumes, which the system formats with it"},
	{"mkswap", "util-linux", Test, "samples of file systems"},
	{"mmd", "mtools", Test, "file systems that others wrote"},
	{"mtype", "mtools", Test, "the boot partition"},
	{"qemu-storage-daemon", "qemu-system-common", Test, "records of what is written to disks"},
	{"sfdisk", "fdisk", Test, "partition tables"},
	{"sgdisk", "gdisk", Test, "partition tables"},
	{"sh", "dash", Test, "a process that prints and waits"},
	{"sleep", "coreutils", Test, "a process to look at"},
	{"tcpdump", "tcpdump", Test, "captures"},
	{"unshare", "util-linux", Test, "programs of images in namespaces"},
	{"xfs_growfs", "xfsprogs", Test, "volumes, which the system grows with it"},
	{"xfs_repair", "xfsprogs", Test, "new file systems, which it checks"},

	{"debootstrap", "debootstrap", Fresh, "a bare Debian"},
}

// ForUse returns the tools for the uses.
func ForUse(uses ...Use) []Tool {
	var tools []Tool

	for _, t := range Tools {
		if slices.Contains(uses, t.Use) {
			tools = append(tools, t)
		}
	}

	return tools
}

// Hint returns how to install a missing program.
func Hint(name string) string {
	for _, t := range Tools {
		if t.Name == name && t.Package != "" {
			return "make host-tools installs it (Debian: apt-get install " + t.Package + ")"
		}
	}

	return "it is not in the table of package hosttools"
}
