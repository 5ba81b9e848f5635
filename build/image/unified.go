// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	stdpe "debug/pe"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/build/cpio"
	"github.com/seed-59268b81/talos/build/pe"
	"github.com/seed-59268b81/talos/layout"
)

// UKI is what a unified kernel image has.
type UKI struct {
	// OSRelease is the text of os-release, Cmdline the kernel's command line, and Release the kernel's release.
	OSRelease, Cmdline, Release string
	Kernel, Initramfs           []byte
}

// texts are the parts that are text, by the names of their sections.
func (u *UKI) texts() map[string]*string {
	return map[string]*string{".osrel": &u.OSRelease, ".cmdline": &u.Cmdline, ".uname": &u.Release}
}

// Join returns the image: the program of the file stub with a section for each part.
func (u UKI) Join(stub string) ([]byte, error) {
	program, err := os.ReadFile(stub)
	if err != nil {
		return nil, fmt.Errorf("unified kernel image: %w", err)
	}

	return pe.Append(program, []pe.Section{
		{Name: ".osrel", Data: []byte(u.OSRelease)},
		{Name: ".cmdline", Data: []byte(u.Cmdline)},
		{Name: ".uname", Data: []byte(u.Release)},
		{Name: ".linux", Data: u.Kernel},
		{Name: ".initrd", Data: u.Initramfs},
	})
}

// ReadUKI takes an image apart.
func ReadUKI(file string) (UKI, error) {
	u, err := readUKI(file)
	if err != nil {
		return UKI{}, fmt.Errorf("unified kernel image %s: %w", filepath.Base(file), err)
	}

	return u, nil
}

func readUKI(file string) (u UKI, err error) {
	f, err := stdpe.Open(file)
	if err != nil {
		return UKI{}, err
	}
	defer f.Close()

	read := func(name string) []byte {
		section := f.Section(name)
		if section == nil {
			err = fmt.Errorf("it has no section %s", name)

			return nil
		}

		data, failed := section.Data()
		if failed != nil {
			err = fmt.Errorf("section %s: %w", name, failed)
		}

		return data[:min(len(data), int(section.VirtualSize))]
	}

	for name, text := range u.texts() {
		*text = string(read(name))
	}

	u.Kernel, u.Initramfs = read(".linux"), read(".initrd")

	return u, err
}

// WithConfig returns an initramfs with a configuration: an archive more, with a file that init puts into the root (package boot).
func WithConfig(initramfs, text []byte) ([]byte, error) {
	out := bytes.NewBuffer(append(bytes.Clone(initramfs), make([]byte, (4-len(initramfs)%4)%4)...))
	archive := cpio.NewWriter(out, uint32(epoch.Unix()))

	for at, c := range layout.EmbeddedConfig {
		if c != '/' {
			continue
		}

		if err := archive.Folder(layout.EmbeddedConfig[:at], 0o700); err != nil {
			return nil, err
		}
	}

	if err := archive.File(layout.EmbeddedConfig, 0o600, int64(len(text)), bytes.NewReader(text)); err != nil {
		return nil, err
	}

	err := archive.Close()

	return out.Bytes(), err
}
