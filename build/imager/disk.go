// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/build/image"
)

// disk makes a disk image in its format, packed.
func (m *making) disk() ([]string, error) {
	values, err := m.meta()
	if err != nil {
		return nil, err
	}

	bios := image.BIOS{Boot: m.GRUBBoot, Core: m.GRUBCore, Version: m.version(), Cmdline: m.uki.Cmdline}
	d := image.Disk{
		Loader: m.Loader, BIOS: &bios, Meta: values, Size: m.Output.Disk.Size, EFISize: m.efiSize, BootSize: m.bootSize,
	}

	if d.UKI, err = m.boot(true); err != nil {
		return nil, err
	}

	if bios.Kernel, err = m.part(Kernel); err != nil {
		return nil, err
	}

	if bios.Initramfs, err = m.part(Initramfs); err != nil {
		return nil, err
	}

	if m.uki.Cmdline != m.stock.Cmdline {
		d.Cmdline = m.uki.Cmdline
	}

	if !m.Output.Disk.NoImageCache {
		d.Cache = m.ImageCache
	}

	if n := m.Output.Disk.multiple; n > 0 {
		smallest, err := d.Smallest()
		if err != nil {
			return nil, err
		}

		d.Size = (max(d.Size, smallest) + n - 1) / n * n
	}

	raw := m.file(".raw")
	if err := image.MakeDisk(m.ctx, raw, d); err != nil {
		return nil, err
	}

	formatted, err := m.format(raw)
	if err != nil {
		return nil, fmt.Errorf("format %s: %w", m.Output.Disk.Format, err)
	}

	packed, err := m.pack(formatted)
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", filepath.Base(formatted), err)
	}

	return []string{packed}, nil
}

// format turns a raw disk into its format, and returns the file.
func (m *making) format(raw string) (string, error) {
	switch m.Output.Disk.Format {
	case Qcow2:
		return convert(m.ctx, raw, m.file(".qcow2"), writeQcow2)
	case VHD:
		return m.file(".vhd"), addFooter(raw, m.file(".vhd"))
	case OVA:
		return convert(m.ctx, raw, m.file(".ova"), writeOVA)
	default:
		return raw, nil
	}
}

// pack packs a disk, and returns the file.
func (m *making) pack(file string) (string, error) {
	switch m.Output.Packing {
	case Zstd:
		return convert(m.ctx, file, file+".zst", packZstd)
	case Gzip:
		return convert(m.ctx, file, file+".gz", packGzip)
	case Tar:
		return convert(m.ctx, file, m.file(".tar.gz"), packTar)
	default:
		return file, nil
	}
}

// addFooter makes a fixed VHD of a raw disk: the disk, and a footer.
func addFooter(raw, vhd string) error {
	if err := os.Rename(raw, vhd); err != nil {
		return err
	}

	f, err := os.OpenFile(vhd, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return err
	}

	id, err := idOf(f)
	if err != nil {
		return err
	}

	footer := vhdFooter(uint64(info.Size()), id)

	if _, err := f.WriteAt(footer[:], info.Size()); err != nil {
		return err
	}

	return f.Close()
}
