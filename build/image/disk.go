// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/sys/meta"
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

			return MakeDisk(ctx, filepath.Join(w.Dir, name), Disk{
				Loader: filepath.Join(w.Needs[artifact.TargetBoot].Dir, artifact.SystemdBoot),
				UKI:    filepath.Join(w.Needs[artifact.TargetUKI].Dir, o.ukiName()),
				Cache:  filepath.Join(w.Needs[cache].Dir, cacheName),
				BIOS: &BIOS{
					Boot: filepath.Join(grub, artifact.GRUBBoot), Core: filepath.Join(grub, artifact.GRUBCore),
					Kernel: filepath.Join(boot, "vmlinuz"), Initramfs: filepath.Join(boot, "initramfs.img"),
					Version: o.Version, Cmdline: o.Cmdline(),
				},
			})
		},
		Publish: map[string]string{name: published},
	}
}

// Disk is what a disk image is made of. Its identifiers are derived from the contents of these files.
type Disk struct {
	// Loader and UKI are the boot loader and what it starts. Cache is the file system of the image cache, or empty for none.
	Loader, UKI, Cache string
	// Cmdline is the whole command line of the kernel, if it is not the one in UKI.
	Cmdline string
	// BIOS is what starts the disk by a BIOS, or nil for UEFI alone.
	BIOS *BIOS
	// Meta are the values of META.
	Meta map[meta.Tag][]byte
	// Size is that of the disk in bytes, or 0 for the smallest. It is a multiple of MiB.
	Size uint64
	// EFISize and BootSize are the sizes of the partitions EFI and BOOT in bytes, or 0 for the usual ones.
	EFISize, BootSize uint64
}

// BIOS is what a disk has for machines with a BIOS. Boot and Core are those of GRUB.
type BIOS struct {
	Boot, Core, Kernel, Initramfs string
	// Version is that of the system, and Cmdline the whole command line of the kernel.
	Version, Cmdline string
}

// MakeDisk installs the system to a new file, as a machine does to its disk.
func MakeDisk(ctx context.Context, path string, d Disk) error {
	if err := d.make(ctx, path); err != nil {
		return fmt.Errorf("disk image: %w", err)
	}

	return nil
}

func (d Disk) make(ctx context.Context, path string) error {
	content, seed, err := d.content()
	if err != nil {
		return err
	}

	request := d.request(content)
	request.Identity = func(name string) gpt.GUID {
		if name == "" {
			name = "disk"
		}

		return identity(name, seed)
	}

	size := max(d.Size, request.Size())
	if size%gpt.Alignment != 0 || d.Size > 0 && d.Size < request.Size() {
		return fmt.Errorf("a size of %d bytes is not possible: choose a multiple of 1 MiB, at least %d MiB", d.Size, request.Size()>>20)
	}

	plan, err := install.For(install.Disk{Name: path, Size: size, SectorSize: sectorSize}, request)
	if err != nil {
		return err
	}

	disk, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer disk.Close()

	if err := disk.Truncate(int64(size)); err != nil {
		return err
	}

	if err := install.Write(ctx, disk, plan, content, nil); err != nil {
		return err
	}

	return disk.Close()
}

// request returns what is installed, without identifiers.
func (d Disk) request(c install.Content) install.Request {
	r := install.Request{Firmware: install.UEFI, EFISize: d.EFISize, BootSize: d.BootSize, Image: true}
	if d.BIOS != nil {
		r.Firmware = install.Either
	}

	if c.ImageCache != nil {
		r.ImageCache = uint64(c.ImageCache.Size)
	}

	return r
}

// Smallest returns the size of the smallest disk, in bytes.
func (d Disk) Smallest() (uint64, error) {
	var c install.Content

	if d.Cache != "" {
		cache, err := install.Named(d.Cache)
		if err != nil {
			return 0, err
		}

		c.ImageCache = &cache
	}

	return d.request(c).Size(), nil
}

// content returns what is written to the disk, and a digest of it.
func (d Disk) content() (c install.Content, seed string, err error) {
	digest := sha256.New()
	fmt.Fprintln(digest, d.Cmdline, d.Meta) // fmt sorts the keys

	sources := map[string]install.Source{}
	files := []string{d.Loader, d.UKI, d.Cache}

	if b := d.BIOS; b != nil {
		fmt.Fprintln(digest, b.Version, b.Cmdline)

		files = append(files, b.Boot, b.Core, b.Kernel, b.Initramfs)
	}

	for _, path := range files {
		if path == "" {
			continue
		}

		// Without its digest, which would have a large file read back.
		s, err := install.Named(path)
		if err != nil {
			return c, "", err
		}

		sum, err := digestOf(path)
		if err != nil {
			return c, "", err
		}

		sources[path] = s
		fmt.Fprintln(digest, sum)
	}

	seed = hex.EncodeToString(digest.Sum(nil))
	serial := identity("serial", seed)

	c = install.Content{
		EFI:    loader.EFIFiles(sources[d.Loader], sources[d.UKI], filepath.Base(d.UKI)),
		Serial: binary.BigEndian.Uint32(serial[:]),
		Time:   epoch,
	}

	if d.Cmdline != "" {
		if c.EFI, err = loader.EFIFilesWith(sources[d.Loader], sources[d.UKI], filepath.Base(d.UKI), d.Cmdline); err != nil {
			return c, "", err
		}
	}

	if b := d.BIOS; b != nil {
		c.GRUB = &install.GRUB{Boot: sources[b.Boot], Core: sources[b.Core]}

		if c.Boot, err = loader.BootFiles(loader.System{
			Version: b.Version, Kernel: sources[b.Kernel], Initramfs: sources[b.Initramfs], Cmdline: b.Cmdline,
		}); err != nil {
			return c, "", err
		}
	}

	if cache, there := sources[d.Cache]; there {
		c.ImageCache = &cache
	}

	if len(d.Meta) > 0 {
		if c.Meta, err = metaOf(d.Meta); err != nil {
			return c, "", err
		}
	}

	return c, seed, nil
}

// digestOf returns the SHA-256 of a file in hexadecimal.
func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()

	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}

	return hex.EncodeToString(h.Sum(nil)), nil
}

// metaOf returns the content of a META with values.
func metaOf(values map[meta.Tag][]byte) (*install.Source, error) {
	partition := memory(make([]byte, layout.MetaSize))

	store, err := meta.Open(partition)
	if err != nil {
		return nil, fmt.Errorf("META: %w", err)
	}

	for _, tag := range slices.Sorted(maps.Keys(values)) {
		if err := store.Set(tag, values[tag]); err != nil {
			return nil, fmt.Errorf("META: key %v: %w", tag, err)
		}
	}

	source := install.Bytes(partition)

	return &source, nil
}

// memory is a partition in memory.
type memory []byte

// ReadAt implements meta.Device.
func (m memory) ReadAt(b []byte, offset int64) (int, error) {
	return bytes.NewReader(m).ReadAt(b, offset)
}

// WriteAt implements meta.Device.
func (m memory) WriteAt(b []byte, offset int64) (int, error) {
	if offset < 0 || offset+int64(len(b)) > int64(len(m)) {
		return 0, fmt.Errorf("%d bytes at %d: there are %d", len(b), offset, len(m))
	}

	return copy(m[offset:], b), nil
}

// Sync implements meta.Device.
func (m memory) Sync() error { return nil }
