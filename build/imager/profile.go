// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/sys/meta"
)

// Profile says what to make.
type Profile struct {
	// Base is the name of the profile that has all that is not set here. It is the name of the image too.
	Base string `yaml:"baseProfileName,omitempty"`
	// Arch is the architecture as Go names it. There is only amd64.
	Arch string `yaml:"arch,omitempty"`
	// Platform is where the machine runs (package platform).
	Platform      string        `yaml:"platform,omitempty"`
	Customization Customization `yaml:"customization,omitempty"`
	Output        Output        `yaml:"output,omitempty"`
}

// Customization is what an image has besides the system.
type Customization struct {
	// KernelArgs follow the system's own.
	KernelArgs []string `yaml:"extraKernelArgs,omitempty"`
	// Meta are values of META.
	Meta []MetaValue `yaml:"metaContents,omitempty"`
	// Config is a machine configuration.
	Config string `yaml:"embeddedMachineConfiguration,omitempty"`
}

// MetaValue is a value of META.
type MetaValue struct {
	Key   uint8  `yaml:"key"`
	Value string `yaml:"value"`
}

// Output is the form of what is made.
type Output struct {
	Kind Kind `yaml:"kind,omitempty"`
	// Packing is how a disk image is packed.
	Packing Packing     `yaml:"outFormat,omitempty"`
	Disk    DiskOptions `yaml:"imageOptions,omitempty"`
}

// DiskOptions are those of a disk image, and the last one that of a CD.
type DiskOptions struct {
	// Size is in bytes, or 0 for the smallest.
	Size   uint64     `yaml:"diskSize,omitempty"`
	Format DiskFormat `yaml:"diskFormat,omitempty"`
	// NoImageCache leaves the container images out: the machine pulls them.
	NoImageCache bool `yaml:"noImageCache,omitempty"`
	// ImageCache adds the container images to a CD, which has none without it.
	ImageCache bool `yaml:"imageCache,omitempty"`

	// multiple is what the size is a multiple of, beside MiB.
	multiple uint64
}

// Kind is a kind of artifact.
type Kind string

// The kinds of artifacts. PXE is all files for boots over the network.
const (
	Image     Kind = "image"
	ISO       Kind = "iso"
	Installer Kind = "installer"
	UKI       Kind = "uki"
	Kernel    Kind = "kernel"
	Initramfs Kind = "initramfs"
	Cmdline   Kind = "cmdline"
	PXE       Kind = "pxe"
)

// DiskFormat is the format of a disk image.
type DiskFormat string

// The formats.
const (
	Raw   DiskFormat = "raw"
	Qcow2 DiskFormat = "qcow2"
	VHD   DiskFormat = "vhd"
	// OVA is an archive of a virtual machine with a disk.
	OVA DiskFormat = "ova"
)

// Packing is how a disk image is packed.
type Packing string

// The packings. Tar is an archive of one file disk.raw, packed with gzip.
const (
	Unpacked Packing = "raw"
	Zstd     Packing = ".zst"
	Gzip     Packing = ".gz"
	Tar      Packing = ".tar.gz"
)

var (
	kinds    = []Kind{Image, ISO, Installer, UKI, Kernel, Initramfs, Cmdline, PXE}
	formats  = []DiskFormat{Raw, Qcow2, VHD, OVA}
	packings = []Packing{Unpacked, Zstd, Gzip, Tar}
)

// Names returns the names of all profiles.
func Names() []string { return slices.Sorted(maps.Keys(profiles)) }

// Named returns a profile by its name.
func Named(name string) (Profile, error) {
	p, there := profiles[name]
	if !there {
		return Profile{}, fmt.Errorf("there is no profile %q: choose one of %s", name, strings.Join(Names(), ", "))
	}

	p.Base = name

	return p, nil
}

// Read reads a profile in YAML, which is to be completed.
func Read(r io.Reader) (Profile, error) {
	var p Profile

	decoder := yaml.NewDecoder(r)
	decoder.KnownFields(true)

	if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
		return Profile{}, errors.New("profile: it is empty")
	} else if err != nil {
		return Profile{}, fmt.Errorf("profile: %w", err)
	}

	if p.Base == "" {
		return Profile{}, fmt.Errorf("profile: baseProfileName is missing: choose one of %s", strings.Join(Names(), ", "))
	}

	return p, nil
}

// Write writes a profile in YAML.
func (p Profile) Write(w io.Writer) error {
	encoder := yaml.NewEncoder(w)

	return errors.Join(encoder.Encode(p), encoder.Close())
}

// Complete returns the profile with what its base has, or why it cannot be made.
func (p Profile) Complete() (Profile, error) {
	base, err := Named(p.Base)
	if err != nil {
		return Profile{}, err
	}

	// Another kind or format than that of the base is not packed as that is.
	switch {
	case p.Output.Kind != "" && p.Output.Kind != base.Output.Kind:
		base.Output = Output{}
	case p.Output.Disk.Format != "" && p.Output.Disk.Format != base.Output.Disk.Format:
		base.Output.Packing, base.Output.Disk.Format = "", ""
	}

	p.Arch = cmp.Or(p.Arch, base.Arch)
	p.Platform = cmp.Or(p.Platform, base.Platform)
	p.Output.Kind = cmp.Or(p.Output.Kind, base.Output.Kind)
	p.Output.Packing = cmp.Or(p.Output.Packing, base.Output.Packing, Unpacked)
	p.Output.Disk.Format = cmp.Or(p.Output.Disk.Format, base.Output.Disk.Format, Raw)
	p.Output.Disk.Size = cmp.Or(p.Output.Disk.Size, base.Output.Disk.Size)
	p.Output.Disk.multiple = base.Output.Disk.multiple

	if err := p.check(); err != nil {
		return Profile{}, fmt.Errorf("profile %s: %w", p.Base, err)
	}

	return p, nil
}

func (p Profile) check() error {
	o := p.Output

	err := errors.Join(
		oneOf("arch", p.Arch, []string{arch}),
		oneOf("platform", p.Platform, platforms),
		oneOf("output.kind", o.Kind, kinds),
		oneOf("output.imageOptions.diskFormat", o.Disk.Format, formats),
		oneOf("output.outFormat", o.Packing, packings),
	)
	if err != nil {
		return err
	}

	for _, arg := range p.Customization.KernelArgs {
		if arg == "" || strings.ContainsAny(arg, " \t\r\n\x00") {
			return fmt.Errorf("kernel argument %q: it must be one word", arg)
		}
	}

	if p.Customization.Config != "" {
		if _, err := config.Decode([]byte(p.Customization.Config)); err != nil {
			return fmt.Errorf("embedded configuration: %w", err)
		}
	}

	disk := o.Kind == Image

	switch {
	case !disk && len(p.Customization.Meta) > 0:
		return fmt.Errorf("values of META: only disk images have META, not output of the kind %s", o.Kind)
	case !disk && (o.Packing != Unpacked || o.Disk.Format != Raw || o.Disk.Size > 0 || o.Disk.NoImageCache):
		return fmt.Errorf("size, format, packing and image cache are those of disk images, not of output of the kind %s", o.Kind)
	case o.Disk.ImageCache && o.Kind != ISO:
		return fmt.Errorf("imageCache adds container images to a CD, not to output of the kind %s", o.Kind)
	case o.Packing == Tar && o.Disk.Format != Raw:
		return fmt.Errorf("a disk in an archive is raw, not %s", o.Disk.Format)
	}

	_, err = p.meta()

	return err
}

// meta returns the values of META.
func (p Profile) meta() (map[meta.Tag][]byte, error) {
	values := map[meta.Tag][]byte{}

	for _, v := range p.Customization.Meta {
		tag := meta.Tag(v.Key)

		if tag >= meta.Administrators {
			return nil, fmt.Errorf("META: key %v: only the system writes it", tag)
		}

		if _, twice := values[tag]; twice {
			return nil, fmt.Errorf("META: key %v is there twice", tag)
		}

		values[tag] = []byte(v.Value)
	}

	return values, nil
}

func oneOf[T ~string](what string, got T, allowed []T) error {
	if slices.Contains(allowed, got) {
		return nil
	}

	return fmt.Errorf("%s: %q is not supported, only %v", what, got, allowed)
}

// With returns the profile with what another one sets, whose arguments and values of META follow.
func (p Profile) With(set Profile) Profile {
	p.Arch = cmp.Or(set.Arch, p.Arch)
	p.Platform = cmp.Or(set.Platform, p.Platform)
	p.Customization.KernelArgs = slices.Concat(p.Customization.KernelArgs, set.Customization.KernelArgs)
	p.Customization.Meta = slices.Concat(p.Customization.Meta, set.Customization.Meta)
	p.Customization.Config = cmp.Or(set.Customization.Config, p.Customization.Config)

	o, s, base := &p.Output, set.Output, profiles[p.Base].Output

	// Another kind or format than before, which may be that of the base, is not packed as that was.
	if s.Kind != "" && s.Kind != cmp.Or(o.Kind, base.Kind) {
		*o = Output{}
	}

	o.Kind = cmp.Or(s.Kind, o.Kind)

	if o.Kind != "" && o.Kind != base.Kind {
		base = Output{}
	}

	if s.Disk.Format != "" && s.Disk.Format != cmp.Or(o.Disk.Format, base.Disk.Format, Raw) {
		o.Packing = ""
	}

	o.Disk.Format = cmp.Or(s.Disk.Format, o.Disk.Format)
	o.Packing = cmp.Or(s.Packing, o.Packing)
	o.Disk.Size = cmp.Or(s.Disk.Size, o.Disk.Size)
	o.Disk.NoImageCache = o.Disk.NoImageCache || s.Disk.NoImageCache
	o.Disk.ImageCache = o.Disk.ImageCache || s.Disk.ImageCache

	return p
}
