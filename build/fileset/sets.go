// SPDX-License-Identifier: Apache-2.0

package fileset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/debian"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/hosttools"
	"github.com/seed-59268b81/talos/build/source"
)

// set is a folder of files from Debian packages.
type set struct {
	name, about string
	// flavour is that of the builds that have the set, or empty for all.
	flavour Flavour
	// packages are the Debian packages, including those of libraries. The lock has their versions.
	packages []string
	// files are patterns of files to extract, with the shared libraries that they need.
	files []string
	// finish, if set, creates the result from the unpacked packages instead of a selection by files.
	finish func(ctx context.Context, tree, dir string) error
	// publish is the result's path in the output folder, or "".
	publish string
}

// xfsPackages have the tools for XFS, with their libraries.
var xfsPackages = []string{"xfsprogs", "libblkid1", "libuuid1", "libinih1", "liburcu8", "libc6", "libgcc-s1"}

// erofsTool creates the file system of a layer that containerd pulls from a registry.
const erofsTool = "usr/bin/mkfs.erofs"

// udevTool is systemd-udevd and udevadm.
const udevTool = "usr/bin/udevadm"

// udevFiles are udevd, the programs of its rules, and the rules: without 80-drivers.rules, since machined loads the drivers, and without
// 80-net-setup-link.rules, which would rename links.
var udevFiles = []string{
	udevTool,
	"usr/lib/udev/ata_id", "usr/lib/udev/cdrom_id", "usr/lib/udev/dmi_memory_id", "usr/lib/udev/fido_id", "usr/lib/udev/mtd_probe",
	"usr/lib/udev/scsi_id", "usr/lib/udev/v4l_id",
	"usr/lib/udev/rules.d/50-udev-default.rules", "usr/lib/udev/rules.d/6*.rules", "usr/lib/udev/rules.d/7[058]-*.rules",
}

// udevPackages have udevFiles, with their libraries.
var udevPackages = []string{"udev", "libacl1", "libcap2", "libkmod2", "liblzma5", "libssl3", "libzstd1"}

var xfsTools = []string{"usr/sbin/mkfs.xfs", "usr/sbin/xfs_repair", "usr/sbin/xfs_growfs"}

// setSources are the sources that build a set.
var setSources = []string{"fileset/sets.go", "debian/debian.go", "debian/selection.go"}

// Flavour is a build of the kernel.
type Flavour string

// The flavours. Cloud has the drivers of virtual machines, Full those of servers too.
const (
	Cloud Flavour = "cloud"
	Full  Flavour = "full"
)

// Flavours are all flavours.
var Flavours = []Flavour{Cloud, Full}

// sets are all files from Debian, except those for Kubernetes' tests.
var sets = []set{
	{
		name: artifact.TargetKernel, about: "Linux for virtual machines, and its modules", flavour: Cloud,
		packages: []string{"linux-image-cloud-amd64", "linux-image-6*-cloud-amd64"},
		finish:   kernelFiles, publish: artifact.Published.KernelDir(),
	},
	{
		name: artifact.TargetBoot, about: "systemd-boot and its stub",
		packages: []string{"systemd-boot-efi"},
		finish: func(_ context.Context, tree, dir string) error {
			return takeFiles(filepath.Join(tree, "usr/lib/systemd/boot/efi"), dir, map[string]string{
				artifact.SystemdBoot: artifact.SystemdBoot,
				artifact.EFIStub:     artifact.EFIStub,
			})
		},
		publish: artifact.Published.Boot(),
	},
	{
		name: artifact.TargetFirmware, about: "UEFI firmware for QEMU",
		packages: []string{"ovmf"},
		finish: func(_ context.Context, tree, dir string) error {
			return takeFiles(filepath.Join(tree, "usr/share/OVMF"), dir, map[string]string{
				"OVMF_CODE_4M.fd": filepath.Base(artifact.Published.FirmwareCode()),
				"OVMF_VARS_4M.fd": filepath.Base(artifact.Published.FirmwareVars()),
			})
		},
		publish: artifact.Published.Firmware(),
	},
	{
		name: "certificates", about: "CA certificates",
		packages: []string{"ca-certificates"},
		finish:   certificateBundle,
	},
	{
		name: "host-files", about: "XFS and EROFS tools, and udev, for the root image",
		packages: slices.Concat([]string{"erofs-utils", "liblz4-1", "libselinux1", "libpcre2-8-0"}, udevPackages, xfsPackages),
		files:    slices.Concat([]string{erofsTool}, udevFiles, xfsTools),
	},
	{
		name: "kubelet-files", about: "tools that kubelet calls",
		packages: append([]string{
			"mount", "util-linux", "e2fsprogs", "logsave", "libmount1", "libselinux1", "libpcre2-8-0", "libsmartcols1",
			"libext2fs2", "libcom-err2", "libss2", "libtinfo6", "libudev1", "libcap-ng0",
		}, xfsPackages...),
		files: append([]string{
			"usr/bin/mount", "usr/bin/umount", "usr/bin/findmnt", "usr/bin/nsenter",
			"usr/sbin/blkid", "usr/sbin/losetup", "usr/sbin/fsck", "usr/sbin/blockdev",
			"usr/sbin/mke2fs", "usr/sbin/mkfs.ext[34]", "usr/sbin/e2fsck", "usr/sbin/fsck.ext[34]", "usr/sbin/resize2fs",
			"usr/sbin/dumpe2fs", "usr/sbin/tune2fs", "etc/mke2fs.conf", "usr/sbin/fsck.xfs",
		}, xfsTools...),
	},
	{
		name: "firewall-files", about: "iptables and nft",
		packages: []string{
			"iptables", "nftables", "netbase", "libc6", "libgcc-s1", "libip4tc2", "libip6tc2", "libxtables12", "libmnl0", "libnftnl11",
			"libnetfilter-conntrack3", "libnfnetlink0", "libnftables1", "libedit2", "libjansson4", "libgmp10",
			"libtinfo6", "libbsd0", "libmd0",
		},
		files: []string{
			"usr/sbin/xtables-nft-multi", "usr/sbin/nft", "usr/lib/x86_64-linux-gnu/xtables/*.so",
			"etc/protocols", "etc/services",
		},
	},
	{
		// Not busybox-static: static programs need the C library of the same version at run time to resolve names.
		name: "busybox", about: "small tools for images that users debug",
		packages: []string{"busybox", "libc6"},
		files:    []string{"usr/bin/busybox"},
	},
	{
		name: artifact.TargetKernel, about: "Linux for servers and virtual machines, and its modules", flavour: Full,
		packages: []string{"linux-image-amd64", "linux-image-6*-amd64"},
		finish:   kernelFiles, publish: artifact.Published.KernelDir(),
	},
}

// step returns the build step of a set.
func (s set) step(from *Packages) graph.Step {
	step := graph.Step{
		Name:  s.name,
		About: s.about + ", from Debian",
		Inputs: func(ctx context.Context, _ graph.Results) ([]string, error) {
			packages, err := from.of(ctx, s)
			if err != nil {
				return nil, err
			}

			recipe, err := source.Of(from.Root, setSources...)

			return append(packageNames(packages), recipe, strings.Join(s.files, " ")), err
		},
		Run: func(ctx context.Context, w *graph.Work) error {
			packages, err := from.of(ctx, s)
			if err != nil {
				return err
			}

			return s.build(ctx, from.Cache, packages, w)
		},
	}

	if s.publish != "" {
		step.Publish = map[string]string{".": s.publish}
	}

	return step
}

func packageNames(packages []debian.Package) []string {
	var names []string
	for _, p := range packages {
		names = append(names, p.String()+" "+p.SHA256)
	}

	return names
}

// build downloads and unpacks the packages and creates the result.
func (s set) build(ctx context.Context, cache string, packages []debian.Package, w *graph.Work) error {
	tree, err := os.MkdirTemp(cache, "unpack-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)

	w.Progress("fetching %d packages", len(packages))

	debs, err := debian.Fetch(ctx, packages, filepath.Join(cache, "debian"))
	if err != nil {
		return err
	}

	for i, deb := range debs {
		w.Progress("unpacking %s", packages[i])

		if err := debian.Unpack(ctx, deb, tree); err != nil {
			return err
		}
	}

	if s.finish != nil {
		return s.finish(ctx, tree, w.Dir)
	}

	selection := debian.Select(tree)
	if err := selection.Add(s.files...); err != nil {
		return err
	}

	return selection.MoveTo(w.Dir)
}

// takeFiles moves files from an unpacked tree to new names.
func takeFiles(tree, dir string, names map[string]string) error {
	for from, to := range names {
		if err := os.Rename(filepath.Join(tree, from), filepath.Join(dir, to)); err != nil {
			return err
		}
	}

	return nil
}

// kernelFiles takes the kernel and its modules, and creates the index of their dependencies, as an installation would.
func kernelFiles(ctx context.Context, tree, dir string) error {
	kernels, err := filepath.Glob(filepath.Join(tree, "boot", "vmlinuz-*"))
	if err != nil || len(kernels) != 1 {
		return fmt.Errorf("kernel package: got %d kernels, want 1", len(kernels))
	}

	release := strings.TrimPrefix(filepath.Base(kernels[0]), "vmlinuz-")

	if err := os.MkdirAll(filepath.Join(dir, "lib/modules"), 0o755); err != nil {
		return err
	}

	if err := takeFiles(tree, dir, map[string]string{
		"boot/vmlinuz-" + release: "vmlinuz",
		"boot/config-" + release:  "config",
		"lib/modules/" + release:  "lib/modules/" + release,
	}); err != nil {
		return err
	}

	depmod, err := hosttools.LookPath("depmod")
	if err != nil {
		return err
	}

	if out, err := exec.CommandContext(ctx, depmod, "-b", dir, release).CombinedOutput(); err != nil {
		return fmt.Errorf("depmod: %w: %s", err, out)
	}

	return nil
}

// certificateBundle concatenates the certificates of the authorities into the file that programs read.
func certificateBundle(_ context.Context, tree, dir string) error {
	files, err := filepath.Glob(filepath.Join(tree, "usr/share/ca-certificates/mozilla/*.crt"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("package ca-certificates: no certificates")
	}

	var bundle []byte

	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			return err
		}

		bundle = append(bundle, raw...)
	}

	target := filepath.Join(dir, "etc/ssl/certs")

	return errors.Join(
		os.MkdirAll(target, 0o755),
		os.WriteFile(filepath.Join(target, "ca-certificates.crt"), bundle, 0o644),
	)
}

// RootTools returns the paths of Debian's programs in the root image.
func RootTools() []string {
	paths := []string{"/" + erofsTool, "/" + udevTool}

	for _, tool := range xfsTools {
		paths = append(paths, "/"+tool)
	}

	return paths
}
