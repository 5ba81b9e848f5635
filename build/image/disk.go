// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/sys/gpt"
)

const sectorSize = 512

// diskStep creates the disk image with the image cache of the step cache.
func diskStep(o Options, target, about, cache, published string) graph.Step {
	name := filepath.Base(published)

	return graph.Step{
		Name:   target,
		About:  about,
		Needs:  []string{artifact.TargetUKI, artifact.TargetInitramfs, cache, artifact.TargetBoot, artifact.TargetGRUB},
		Inputs: o.installInputs(o.Version, o.Cmdline()),
		Run: func(ctx context.Context, w *graph.Work) error {
			boot, grub := w.Needs[artifact.TargetInitramfs].Dir, w.Needs[artifact.TargetGRUB].Dir

			return makeDisk(ctx, filepath.Join(w.Dir, name), diskParts{
				loader:    filepath.Join(w.Needs[artifact.TargetBoot].Dir, artifact.SystemdBoot),
				uki:       filepath.Join(w.Needs[artifact.TargetUKI].Dir, o.ukiName()),
				kernel:    filepath.Join(boot, "vmlinuz"),
				initramfs: filepath.Join(boot, "initramfs.img"),
				grubBoot:  filepath.Join(grub, artifact.GRUBBoot),
				grubCore:  filepath.Join(grub, artifact.GRUBCore),
				cache:     filepath.Join(w.Needs[cache].Dir, "imagecache.ext4"),
				version:   o.Version,
				cmdline:   o.Cmdline(),
				seed: w.Needs[artifact.TargetUKI].Digest + w.Needs[cache].Digest + w.Needs[artifact.TargetBoot].Digest +
					w.Needs[artifact.TargetGRUB].Digest,
			})
		},
		Publish: map[string]string{name: published},
	}
}

// diskParts are the parts of a disk image. Identifiers are derived from seed. espSize and bootSize are 0 for the usual sizes of EFI and BOOT.
type diskParts struct {
	loader, uki                           string
	kernel, initramfs, grubBoot, grubCore string
	cache                                 string
	version, cmdline                      string
	seed                                  string
	espSize, bootSize                     uint64
}

// makeDisk installs the system to a new file, as a machine does to its disk. It starts by UEFI and by a BIOS.
func makeDisk(ctx context.Context, path string, parts diskParts) error {
	sources := map[string]install.Source{}

	for _, source := range []string{
		parts.loader, parts.uki, parts.kernel, parts.initramfs, parts.grubBoot, parts.grubCore, parts.cache,
	} {
		s, err := install.Named(source)
		if err != nil {
			return fmt.Errorf("disk image: %w", err)
		}

		sources[source] = s
	}

	cache := sources[parts.cache]
	request := install.Request{
		Firmware: install.Either, EFISize: parts.espSize, BootSize: parts.bootSize, ImageCache: uint64(cache.Size), Image: true,
		Identity: func(name string) gpt.GUID {
			if name == "" {
				name = "disk"
			}

			return identity(name, parts.seed)
		},
	}

	boot, err := loader.BootFiles(loader.System{
		Version: parts.version, Kernel: sources[parts.kernel], Initramfs: sources[parts.initramfs], Cmdline: parts.cmdline,
	})
	if err != nil {
		return fmt.Errorf("disk image: %w", err)
	}

	plan, err := install.For(install.Disk{Name: path, Size: request.Size(), SectorSize: sectorSize}, request)
	if err != nil {
		return err
	}

	disk, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer disk.Close()

	if err := disk.Truncate(int64(request.Size())); err != nil {
		return err
	}

	serial := identity("serial", parts.seed)

	if err := install.Write(ctx, disk, plan, install.Content{
		EFI:        loader.EFIFiles(sources[parts.loader], sources[parts.uki], filepath.Base(parts.uki)),
		Boot:       boot,
		GRUB:       &install.GRUB{Boot: sources[parts.grubBoot], Core: sources[parts.grubCore]},
		ImageCache: &cache,
		Serial:     binary.BigEndian.Uint32(serial[:]),
		Time:       epoch,
	}, nil); err != nil {
		return err
	}

	return disk.Close()
}
