// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/fat"
)

// ISO is what a CD image is made of. Its identifiers are derived from the contents of these files.
type ISO struct {
	Version string
	// Loader and UKI are the boot loader and what it starts.
	Loader, UKI string
	BIOS        ISOBIOS
	// Cache is the file system of the image cache, or empty for none.
	Cache string
}

// efiImage is the file of a CD with the file system that UEFI firmware starts from (El Torito). A partition table names it too, for disks
// and USB sticks to which the CD image is written.
const efiImage = "boot/efi.img"

// bootCatalog is the file of a CD with what firmware can start (El Torito).
const bootCatalog = "boot/boot.cat"

// stamp is epoch as xorriso takes it: YYYYMMDDhhmmsscc.
var stamp = epoch.Format("20060102150405") + "00"

// MakeISO writes a CD image to a new file.
func MakeISO(ctx context.Context, path string, i ISO) error {
	if err := i.make(ctx, path); err != nil {
		return fmt.Errorf("CD image: %w", err)
	}

	return nil
}

func (i ISO) make(ctx context.Context, path string) error {
	dir, remove, err := scratch(path)
	if err != nil {
		return err
	}
	defer remove()

	sources, seed, err := i.sources()
	if err != nil {
		return err
	}

	efi := filepath.Join(dir, "efi.img")
	files := append(loader.EFIFiles(sources[i.Loader], sources[i.UKI], filepath.Base(i.UKI)),
		install.File{Path: loader.GRUBBootPath, Source: sources[i.BIOS.Boot]}, install.File{Path: loader.GRUBCorePath, Source: sources[i.BIOS.Core]})

	if err := makeEFI(ctx, efi, seed, files); err != nil {
		return err
	}

	config := filepath.Join(dir, "grub.cfg")

	text, err := isoGRUBConfig(i.UKI)
	if err == nil {
		err = os.WriteFile(config, []byte(text), 0o644)
	}

	if err != nil {
		return err
	}

	err = i.join(ctx, path, seed, map[string]string{efiImage: efi, grubConfig: config, grubCore: i.BIOS.CD})
	if err == nil && i.Cache != "" {
		err = addCache(path, i.Cache, seed)
	}

	return err
}

// sources returns the files that the CD is made of, and a digest of them.
func (i ISO) sources() (sources map[string]install.Source, seed string, err error) {
	if err := i.BIOS.check(); err != nil {
		return nil, "", err
	}

	sources = map[string]install.Source{}

	for _, file := range []string{i.Loader, i.UKI, i.BIOS.Hybrid, i.BIOS.CD, i.BIOS.Boot, i.BIOS.Core} {
		s, err := install.Named(file)
		if err == nil {
			s.SHA256, err = digestOf(file)
		}

		if err != nil {
			return nil, "", err
		}

		sources[file] = s
		seed += s.SHA256
	}

	return sources, seed, nil
}

// join makes the CD of its files, which are named by their paths there. A BIOS starts the first entry of the boot catalog, and UEFI the second
// one; both also start a disk with the image: the BIOS by its first sector, and UEFI by its partition table.
func (i ISO) join(ctx context.Context, path, seed string, files map[string]string) error {
	disk := identity("cd", seed)
	args := []string{
		"-as", "mkisofs", "-quiet", "-r", "-V", volumeID(i.Version), "-o", path,
		"-b", grubCore, "-c", bootCatalog, "-no-emul-boot", "-boot-load-size", "4", "-boot-info-table", "--grub2-boot-info",
		"--grub2-mbr", i.BIOS.Hybrid, "--protective-msdos-label",
		"-eltorito-alt-boot", "-e", efiImage, "-no-emul-boot", "-efi-boot-part", "--efi-boot-image",
		"--modification-date=" + stamp, "--set_all_file_dates", stamp, "--gpt_disk_guid", strings.ReplaceAll(disk.String(), "-", ""),
		"-graft-points",
	}

	for _, name := range slices.Sorted(maps.Keys(files)) {
		args = append(args, name+"="+files[name])
	}

	return run(ctx, []string{"SOURCE_DATE_EPOCH=" + fmt.Sprint(epoch.Unix())}, "xorriso", args...)
}

// makeEFI makes the file system that the firmware starts from, as small as possible.
func makeEFI(ctx context.Context, path, seed string, files []install.File) error {
	// Each cluster has one sector and two entries of four bytes in the tables. The folders need less than 1 MiB.
	size := uint64(1 << 20)
	for _, f := range files {
		size += uint64(f.Size) + sectorSize
	}

	size += size / sectorSize * 8
	size = aligned(max(size, minFAT))

	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()

	if err := f.Truncate(int64(size)); err != nil {
		return err
	}

	serial := identity("serial", seed)

	system, err := fat.Format(f, fat.Options{
		Size: size, SectorSize: sectorSize, Label: layout.PartitionEFI, Serial: binary.BigEndian.Uint32(serial[:]), Time: epoch,
	})
	if err != nil {
		return err
	}

	for _, file := range files {
		if err := install.Put(ctx, system, file); err != nil {
			return err
		}
	}

	return f.Close()
}

// minFAT is the size of the smallest FAT32 with clusters of one sector.
const minFAT = 36 << 20

var notInVolumeID = regexp.MustCompile(`[^A-Z0-9_]+`)

// volumeID returns the label of a CD, which has up to 32 capital letters, digits and underscores.
func volumeID(version string) string {
	id := "TALOS_" + notInVolumeID.ReplaceAllString(strings.ToUpper(version), "_")

	return id[:min(len(id), 32)]
}
