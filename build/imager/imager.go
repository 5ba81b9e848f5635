// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/image"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/install/release"
)

// Inputs are the files that images are made of.
type Inputs struct {
	// UKI has the kernel, the initramfs with the root image, and the command line. Stub is the program for another one.
	UKI, Stub string
	Loader    string
	// GRUBBoot and GRUBCore start a disk by a BIOS, and GRUBHybrid and GRUBCD a CD or its copy on a disk.
	GRUBBoot, GRUBCore, GRUBHybrid, GRUBCD string
	// ImageCache is the file system of the partition IMAGECACHE.
	ImageCache string
	// Key signs what is made, unless it is nil. The installer's archive has the signature of its image, and beside each file is FILE.sig.
	Key crypto.Signer

	// efiSize and bootSize are the sizes of the partitions EFI and BOOT, or 0 for the usual ones.
	efiSize, bootSize uint64
}

// Built are the results of a build.
func Built(p artifact.Paths) Inputs {
	return Inputs{
		UKI: p.UKI(), Stub: filepath.Join(p.Boot(), artifact.EFIStub), Loader: filepath.Join(p.Boot(), artifact.SystemdBoot),
		GRUBBoot: filepath.Join(p.GRUB(), artifact.GRUBBoot), GRUBCore: filepath.Join(p.GRUB(), artifact.GRUBCore),
		GRUBHybrid: filepath.Join(p.GRUB(), artifact.GRUBHybrid), GRUBCD: filepath.Join(p.GRUB(), artifact.GRUBCD),
		ImageCache: p.ImageCache(),
	}
}

// needed returns the files that a profile needs.
func (in Inputs) needed(p Profile) []string {
	files, o := []string{in.UKI, in.Stub, in.Loader}, p.Output

	if o.Kind == Image || o.Kind == ISO || o.Kind == Installer {
		files = append(files, in.GRUBBoot, in.GRUBCore)
	}

	if o.Kind == ISO {
		files = append(files, in.GRUBHybrid, in.GRUBCD)
	}

	if o.Kind == Image && !o.Disk.NoImageCache || o.Kind == ISO && o.Disk.ImageCache {
		files = append(files, in.ImageCache)
	}

	return files
}

// check returns an error if a file that a profile needs is missing.
func (in Inputs) check(p Profile) error {
	for _, file := range in.needed(p) {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing: run make build first, or name the output folder of a build", file)
		} else if err != nil {
			return err
		}
	}

	return nil
}

// Warnings returns what may keep an image of a complete profile from starting where it is for.
func Warnings(p Profile, in Inputs) ([]string, error) {
	if p.Platform != "metal" || p.Output.Kind == Installer {
		return nil, nil
	}

	stock, err := image.ReadUKI(in.UKI)
	if err != nil {
		return nil, err
	}

	if !image.Virtual(stock.Release) {
		return nil, nil
	}

	return []string{fmt.Sprintf("the kernel %s is for virtual machines, and has no drivers for most servers: for those make another build with make full, and "+
		"name its folder with --input out/full", stock.Release)}, nil
}

// Make makes what a complete profile says, in the folder dir, and returns the files. Each file appears when it is whole.
func Make(ctx context.Context, p Profile, in Inputs, dir string) ([]string, error) {
	files, err := makeAll(ctx, p, in, dir)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", p.Base, err)
	}

	return files, nil
}

func makeAll(ctx context.Context, p Profile, in Inputs, dir string) ([]string, error) {
	if err := in.check(p); err != nil {
		return nil, err
	}

	stock, err := image.ReadUKI(in.UKI)
	if err != nil {
		return nil, err
	}

	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}

	// On the file system of the results, which are renamed.
	tmp, err := os.MkdirTemp(dir, ".making-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)

	m := making{Profile: p, Inputs: in, ctx: ctx, stock: stock, uki: stock, tmp: tmp}
	if err := m.customize(); err != nil {
		return nil, err
	}

	made, err := m.make()
	if err == nil && in.Key != nil {
		made, err = signAll(made, in.Key)
	}

	if err != nil {
		return nil, err
	}

	var files []string

	for _, f := range made {
		// What has a configuration has its secrets.
		if p.Customization.Config != "" {
			if err := os.Chmod(f, 0o600); err != nil {
				return nil, err
			}
		}

		target := filepath.Join(dir, filepath.Base(f))

		// The signature of an earlier file is not one of this file.
		if err := os.Remove(target + signatureEnding); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}

		if err := os.Rename(f, target); err != nil {
			return nil, err
		}

		files = append(files, target)
	}

	return files, nil
}

// making is one run of Make. stock is the image of the build, and uki the one for the profile.
type making struct {
	Profile
	Inputs

	ctx        context.Context
	stock, uki image.UKI
	tmp        string
}

// customize changes the unified kernel image as the profile says.
func (m *making) customize() (err error) {
	var extra []string
	if m.Platform != metal {
		extra = []string{"talos.platform=" + m.Platform} // the last one counts
	}

	m.uki.Cmdline = strings.Join(append(append([]string{m.stock.Cmdline}, extra...), m.Customization.KernelArgs...), " ")

	if m.Customization.Config != "" {
		m.uki.Initramfs, err = image.WithConfig(m.uki.Initramfs, []byte(m.Customization.Config))
	}

	return err
}

// version is that of the system.
func (m *making) version() string {
	for line := range strings.Lines(m.stock.OSRelease) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "VERSION_ID="); ok {
			return strings.Trim(v, `"`)
		}
	}

	return "unknown"
}

// file returns the path of an artifact, which has the name of the profile.
func (m *making) file(ending string) string {
	return filepath.Join(m.tmp, m.Base+"-"+m.Arch+ending)
}

func (m *making) make() ([]string, error) {
	switch m.Output.Kind {
	case Image:
		return m.disk()
	case ISO:
		return m.iso()
	case Installer:
		return m.installer()
	case PXE:
		var all []string

		for _, kind := range []Kind{Kernel, Initramfs, Cmdline, UKI} {
			file, err := m.part(kind)
			if err != nil {
				return nil, err
			}

			all = append(all, file)
		}

		return all, nil
	default:
		file, err := m.part(m.Output.Kind)

		return []string{file}, err
	}
}

// part writes the unified kernel image, or a part of it.
func (m *making) part(kind Kind) (string, error) {
	var (
		content []byte
		err     error
		ending  string
	)

	switch kind {
	case UKI:
		ending = ".efi"
		content, err = m.uki.Join(m.Stub)
	case Kernel:
		ending, content = "-vmlinuz", m.uki.Kernel
	case Initramfs:
		ending, content = "-initramfs.img", m.uki.Initramfs
	case Cmdline:
		ending, content = "-cmdline", []byte(m.uki.Cmdline+"\n")
	default:
		err = fmt.Errorf("there is no output of the kind %q", kind)
	}

	if err != nil {
		return "", err
	}

	file := m.file(ending)

	return file, os.WriteFile(file, content, 0o644)
}

// boot writes the unified kernel image for a boot medium, under the name of its entry. Arguments that differ may be beside it.
func (m *making) boot(beside bool) (string, error) {
	uki := m.uki
	if beside {
		uki.Cmdline = m.stock.Cmdline
	}

	file := filepath.Join(m.tmp, loader.NewID(m.version()))

	joined, err := uki.Join(m.Stub)
	if err != nil {
		return "", err
	}

	return file, os.WriteFile(file, joined, 0o644)
}

func (m *making) iso() ([]string, error) {
	uki, err := m.boot(false)
	if err != nil {
		return nil, err
	}

	file := m.file(".iso")

	cd := image.ISO{
		Version: m.version(), Loader: m.Loader, UKI: uki,
		BIOS: image.ISOBIOS{Hybrid: m.GRUBHybrid, CD: m.GRUBCD, Boot: m.GRUBBoot, Core: m.GRUBCore},
	}

	if m.Output.Disk.ImageCache {
		cd.Cache = m.ImageCache
	}

	return []string{file}, image.MakeISO(m.ctx, file, cd)
}

func (m *making) installer() ([]string, error) {
	files := map[string]string{}

	for name, kind := range map[string]Kind{release.UKI: UKI, release.Kernel: Kernel, release.Initramfs: Initramfs} {
		file, err := m.part(kind)
		if err != nil {
			return nil, err
		}

		files[name] = file
	}

	for name, from := range map[string]string{release.Loader: m.Loader, release.GRUBBoot: m.GRUBBoot, release.GRUBCore: m.GRUBCore} {
		// The files are linked, and the build's may be on another file system.
		program, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}

		files[name] = filepath.Join(m.tmp, name)
		if err := os.WriteFile(files[name], program, 0o644); err != nil {
			return nil, err
		}
	}

	name := m.Base + "-" + m.Arch
	err := image.MakeInstaller(m.tmp, name, release.Manifest{Version: m.version(), Cmdline: m.uki.Cmdline}, files, m.Key)

	return []string{m.file(".tar")}, err
}
