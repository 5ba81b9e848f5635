// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/version"
)

// Paths locates the results in an output folder. The paths of the zero value are relative to the output folder.
type Paths struct {
	// Out is the output folder.
	Out string
}

// Published are the paths relative to the output folder.
var Published Paths

func (p Paths) component(name string) string { return filepath.Join(p.Out, "components", name) }
func (p Paths) image(name string) string     { return filepath.Join(p.Out, "images", name) }

// Cache is the build cache.
func (p Paths) Cache() string { return filepath.Join(p.Out, "cache") }

// Bin is a program for users: talosctl, imager, kubectl, talos.
func (p Paths) Bin(name string) string { return filepath.Join(p.Out, "bin", name) }

// Debug is the operating system's program with symbols.
func (p Paths) Debug() string { return filepath.Join(p.Out, "debug", "talos") }

// Component is a third-party program, by its upstream name.
func (p Paths) Component(name string) string { return filepath.Join(p.component("bin"), name) }

// Rootfs is the tree of third-party files for the root image.
func (p Paths) Rootfs() string { return p.component("rootfs") }

// KernelDir has the unpacked kernel: Vmlinuz and Modules.
func (p Paths) KernelDir() string { return p.component("kernel") }

// Vmlinuz is the compressed kernel.
func (p Paths) Vmlinuz() string { return filepath.Join(p.KernelDir(), "vmlinuz") }

// Modules is the folder lib/modules/RELEASE, with modules.dep and the other indexes. RELEASE is the output of uname -r.
func (p Paths) Modules() (string, error) {
	modules, err := Modules(p.KernelDir())
	if err != nil {
		return "", fmt.Errorf("%w (build the target %q first)", err, TargetKernel)
	}

	return modules, nil
}

// Modules returns the folder lib/modules/RELEASE in the result of the kernel's step.
func Modules(kernel string) (string, error) {
	parent := filepath.Join(kernel, "lib", "modules")

	entries, err := os.ReadDir(parent)
	if err != nil {
		return "", fmt.Errorf("kernel modules: %w", err)
	}

	if len(entries) != 1 {
		return "", fmt.Errorf("kernel modules: %s has %d releases, want 1", parent, len(entries))
	}

	return filepath.Join(parent, entries[0].Name()), nil
}

// Boot has the boot loader and the stub of the unified kernel image: the files SystemdBoot and EFIStub.
func (p Paths) Boot() string { return p.component("boot") }

// GRUB has the boot loader for machines with a BIOS: the files GRUBBoot and GRUBCore for disks, and GRUBHybrid and GRUBCD for CD images.
func (p Paths) GRUB() string { return p.component("grub") }

// Files in Boot, GRUB and Firmware.
const (
	SystemdBoot  = "systemd-bootx64.efi"
	EFIStub      = "linuxx64.efi.stub"
	GRUBBoot     = "boot.img"
	GRUBCore     = "core.img"
	GRUBHybrid   = "hybrid.img"
	GRUBCD       = "cd.img"
	firmwareCode = "OVMF_CODE.fd"
	firmwareVars = "OVMF_VARS.fd"
)

// Firmware has the UEFI firmware for QEMU.
func (p Paths) Firmware() string { return p.component("firmware") }

// FirmwareCode is the UEFI firmware for QEMU, read-only.
func (p Paths) FirmwareCode() string { return filepath.Join(p.Firmware(), firmwareCode) }

// FirmwareVars is the empty variable store. Each machine gets a copy.
func (p Paths) FirmwareVars() string { return filepath.Join(p.Firmware(), firmwareVars) }

// ImageLayout is the OCI layout with all images of images.Cache. Each entry of its index.json has the full reference in
// the annotation org.opencontainers.image.ref.name.
func (p Paths) ImageLayout() string { return p.component("image-layout") }

// ConformanceImageLayout is the OCI layout with those images and all of images.Conformance.
func (p Paths) ConformanceImageLayout() string { return p.component("conformance-image-layout") }

// ImageLayers has a file system for each layer of ImageLayout.
func (p Paths) ImageLayers() string { return p.component("image-layers") }

// ConformanceImageLayers has a file system for each layer of ConformanceImageLayout.
func (p Paths) ConformanceImageLayers() string { return p.component("conformance-image-layers") }

// Root is the root file system.
func (p Paths) Root() string { return p.image("rootfs.sqsh") }

// Initramfs is the initramfs.
func (p Paths) Initramfs() string { return p.image("initramfs.img") }

// Kernel is the kernel.
func (p Paths) Kernel() string { return p.image("vmlinuz") }

// UKI is the unified kernel image, which the UEFI firmware starts.
func (p Paths) UKI() string { return p.UKIOf(version.Tag) }

// UKIOf is the unified kernel image of a version.
func (p Paths) UKIOf(version string) string { return p.image("Talos-" + version + ".efi") }

// ImageCache is the file system of the partition IMAGECACHE.
func (p Paths) ImageCache() string { return p.image("imagecache.ext4") }

// Disk is the disk image.
func (p Paths) Disk() string { return p.image("metal-amd64.raw") }

// Installer is the OCI layout with the release: what a machine installs.
func (p Paths) Installer() string { return p.image("installer-amd64.tar") }

// ConformanceDisk is the disk image whose image cache also has the images of Kubernetes' end-to-end tests.
func (p Paths) ConformanceDisk() string { return p.image("metal-amd64-conformance.raw") }
