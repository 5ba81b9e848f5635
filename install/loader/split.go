// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"bytes"
	"debug/pe"
	"errors"
	"fmt"
	"io"

	"github.com/seed-59268b81/talos/install"
)

// Split returns the kernel and the initramfs in a unified kernel image, which GRUB starts from files of their own. They are empty without Open
// if the image has none.
func Split(uki install.Source) (kernel, initramfs install.Source, err error) {
	r, err := uki.Open()
	if err != nil {
		return kernel, initramfs, err
	}
	defer r.Close()

	b, err := io.ReadAll(io.LimitReader(r, maxHead))
	if err != nil {
		return kernel, initramfs, fmt.Errorf("read the unified kernel image: %w", err)
	}

	f, err := pe.NewFile(bytes.NewReader(b))
	if err != nil {
		return kernel, initramfs, fmt.Errorf("read the sections of the unified kernel image: %w", err)
	}

	kernel, err1 := section(uki, f, ".linux")
	initramfs, err2 := section(uki, f, ".initrd")

	return kernel, initramfs, errors.Join(err1, err2)
}

// section returns a section of an image.
func section(uki install.Source, f *pe.File, name string) (install.Source, error) {
	s := f.Section(name)
	if s == nil {
		return install.Source{}, nil
	}

	start, size := int64(s.Offset), int64(min(s.Size, s.VirtualSize))
	if start+size > uki.Size {
		return install.Source{}, fmt.Errorf("unified kernel image: its section %s ends at byte %d, and it has %d bytes", name, start+size, uki.Size)
	}

	return install.Source{Size: size, Open: func() (io.ReadCloser, error) {
		r, err := uki.Open()
		if err != nil {
			return nil, err
		}

		if _, err := io.CopyN(io.Discard, r, start); err != nil {
			return nil, errors.Join(fmt.Errorf("read section %s: %w", name, err), r.Close())
		}

		return limited{io.LimitReader(r, size), r}, nil
	}}, nil
}

// limited is a part of a file.
type limited struct {
	io.Reader
	io.Closer
}
