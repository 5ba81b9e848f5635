// SPDX-License-Identifier: Apache-2.0

package image

import (
	stdpe "debug/pe"
	"fmt"
	"path/filepath"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
)

// ISOBIOS is what a CD has for machines with a BIOS, all of it of GRUB: Hybrid starts a disk or USB stick with the image of the CD, CD is the
// core for both, and Boot and Core are what such a machine installs to its disk.
type ISOBIOS struct {
	Hybrid, CD, Boot, Core string
}

// Files of a CD for a BIOS: the core of GRUB, and its configuration.
const (
	grubCore   = "boot/grub/cd.img"
	grubConfig = "boot/grub/grub.cfg"
)

// check returns an error for programs with the wrong size: xorriso writes the addresses of the CD into them.
func (b ISOBIOS) check() error {
	hybrid, err := install.Named(b.Hybrid)
	if err != nil {
		return err
	}

	core, err := install.Named(b.CD)
	if err != nil {
		return err
	}

	if hybrid.Size != sectorSize || core.Size <= 4*sectorSize {
		return fmt.Errorf("GRUB: its program for the first sector has %d bytes, and its core %d", hybrid.Size, core.Size)
	}

	return nil
}

// isoGRUBConfig returns the configuration of GRUB on a CD. The kernel and the initramfs are not there twice: GRUB reads them from the unified
// kernel image, by the sectors of its sections.
func isoGRUBConfig(uki string) (string, error) {
	u, err := ReadUKI(uki)
	if err != nil {
		return "", err
	}

	f, err := stdpe.Open(uki)
	if err != nil {
		return "", err
	}
	defer f.Close()

	kernel, err := sectorsOf(f, ".linux")
	if err != nil {
		return "", err
	}

	initramfs, err := sectorsOf(f, ".initrd")
	if err != nil {
		return "", err
	}

	args, err := loader.GRUBArguments(u.Cmdline)
	if err != nil {
		return "", err
	}

	return fmt.Sprintf(`set superusers=
loopback efi /%s
loopback uki "(efi)%s"
linux (uki)%s %s
if initrd (uki)%s; then boot; fi
`, efiImage, loader.UKIPath(filepath.Base(uki)), kernel, args, initramfs), nil
}

// sectorsOf returns the sectors of a section as GRUB names them. The last one may have zeros after the section.
func sectorsOf(f *stdpe.File, name string) (string, error) {
	s := f.Section(name)

	switch {
	case s == nil:
		return "", fmt.Errorf("unified kernel image: it has no section %s", name)
	case s.Offset%sectorSize != 0 || s.Size%sectorSize != 0:
		return "", fmt.Errorf("unified kernel image: section %s is not made of sectors", name)
	}

	size := min(s.Size, (s.VirtualSize+sectorSize-1)/sectorSize*sectorSize)

	return fmt.Sprintf("%d+%d", s.Offset/sectorSize, size/sectorSize), nil
}
