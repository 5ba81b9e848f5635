// SPDX-License-Identifier: Apache-2.0

// Package components builds every third-party part of the system from source modules and Debian packages, and our own
// programs beside them.
//
// # Use
//
// As a program:
//
//	go run ./components/cmd/build              everything, the imager's disk image too
//	go run ./components/cmd/build kubernetes   one target and what it needs
//	go run ./components/cmd/build -list        the targets
//
// As a library, from a program that goes on with the results (the imager, the end-to-end tests):
//
//	paths, err := components.Build(ctx, components.Options{}, components.TargetRootfs, components.TargetKernel)
//	kernel := paths.Vmlinuz()
//
// Artifacts are looked up through Paths, never by spelling a path out. After a build the output folder holds
//
//	bin/                        talosctl, kubectl, talos (Paths.Bin): what people run
//	components/bin/             each third-party program (Paths.Component)
//	components/rootfs/          tree to lay into the root image: containerd, shim, runc, CNI plugins, mkfs.xfs and its
//	                            kin with their libraries, CA certificates, and the links of a merged /usr (Paths.Rootfs)
//	components/kernel/          vmlinuz, and lib/modules/RELEASE with modules.dep (Paths.Vmlinuz, Paths.Modules)
//	components/boot/            systemd-bootx64.efi and linuxx64.efi.stub (Paths.SystemdBoot, Paths.EFIStub)
//	components/firmware/        OVMF_CODE.fd and OVMF_VARS.fd for QEMU (Paths.FirmwareCode, Paths.FirmwareVars)
//	components/image-layout/    every container image of a node as one OCI layout (Paths.ImageLayout)
//	components/conformance-image-layout/
//	                            these and the images of Kubernetes' end-to-end tests (Paths.ConformanceImageLayout); only
//	                            on demand
//	cache/                      the build cache; remove it to build from nothing
//
// # How it builds
//
// The work is a graph of steps (package graph). A step's result is stored under the hash of everything that went into
// it: go.mod, go.sum, flags, the Go release, the packages asked for, the results of the steps before. What is in the
// cache is linked into place, not copied and not made again. Heavy steps run at most as many at once as there are
// processors, and one Go module is one step, so that its programs share one pass over their common packages.
//
// Each third-party program has a folder with a go.mod of its own, whose tool lines name the upstream main packages. So
// `go mod tidy` keeps their dependencies, and neither our module nor any two of them must agree on a version.
package components

import (
	"fmt"
	"os"
	"path/filepath"
)

// Paths locates the results under one output folder.
type Paths struct {
	// Out is the output folder, absolute.
	Out string
}

// Bin is a program for people: talosctl, kubectl, talos.
func (p Paths) Bin(name string) string { return filepath.Join(p.Out, "bin", name) }

// Component is a third-party program, by its upstream name.
func (p Paths) Component(name string) string { return filepath.Join(p.Out, "components", "bin", name) }

// Rootfs is the tree of third-party files that the root image is laid out from.
func (p Paths) Rootfs() string { return filepath.Join(p.Out, "components", "rootfs") }

// Vmlinuz is the compressed kernel.
func (p Paths) Vmlinuz() string { return filepath.Join(p.Out, "components", "kernel", "vmlinuz") }

// Modules is the folder lib/modules/RELEASE, with modules.dep and its kin.
// RELEASE, its base name, is what uname -r prints.
func (p Paths) Modules() (string, error) {
	parent := filepath.Join(p.Out, "components", "kernel", "lib", "modules")

	entries, err := os.ReadDir(parent)
	if err != nil {
		return "", fmt.Errorf("kernel modules (run the target %q first): %w", TargetKernel, err)
	}

	if len(entries) != 1 {
		return "", fmt.Errorf("kernel modules: %s has %d releases, want 1", parent, len(entries))
	}

	return filepath.Join(parent, entries[0].Name()), nil
}

// SystemdBoot is the boot loader, an EFI program.
func (p Paths) SystemdBoot() string {
	return filepath.Join(p.Out, "components", "boot", "systemd-bootx64.efi")
}

// EFIStub is the stub that becomes a unified kernel image once sections are added to it.
func (p Paths) EFIStub() string {
	return filepath.Join(p.Out, "components", "boot", "linuxx64.efi.stub")
}

// FirmwareCode is the UEFI firmware for QEMU, read-only.
func (p Paths) FirmwareCode() string {
	return filepath.Join(p.Out, "components", "firmware", "OVMF_CODE.fd")
}

// FirmwareVars is the empty variable store to copy for each machine.
func (p Paths) FirmwareVars() string {
	return filepath.Join(p.Out, "components", "firmware", "OVMF_VARS.fd")
}

// ImageLayout is the OCI layout with all images of images.Cache; each entry of its index.json has the full reference in
// the annotation org.opencontainers.image.ref.name.
func (p Paths) ImageLayout() string { return filepath.Join(p.Out, layoutFolders[TargetImages]) }

// ConformanceImageLayout is the OCI layout with those images and all of images.Conformance.
func (p Paths) ConformanceImageLayout() string {
	return filepath.Join(p.Out, layoutFolders[TargetConformanceImages])
}

// Targets that Build takes.
const (
	TargetAll       = "all"
	TargetHostTools = "host-tools"
	TargetKernel    = "kernel"
	TargetBoot      = "boot"
	TargetFirmware  = "firmware"
	TargetRootfs    = "rootfs"
	TargetImages    = "images"
	// TargetConformanceImages and TargetConformanceTests are built only on demand.
	TargetConformanceImages = "conformance-images"
	TargetConformanceTests  = "e2e"

	TargetTalos    = "talos"
	TargetInit     = "init"
	TargetModprobe = "modprobe"
	TargetSandbox  = "sandbox"
	TargetTalosctl = "talosctl"
	TargetKubectl  = "kubectl"
)
