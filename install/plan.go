// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/gpt"
)

// Disk is what is known of a disk.
type Disk struct {
	// Name is for errors, such as /dev/sda.
	Name             string
	Size, SectorSize uint64
	ReadOnly, CDROM  bool
	// Users are what uses the disk or one of its partitions, such as a mounted volume.
	Users []string
	// Content is the name of what is on the disk, empty when it is blank. Table is its partition table, if it has one.
	Content string
	Table   *gpt.Table
	// Begun is set when the disk has the mark of an installation that has not ended.
	Begun bool
}

// Firmware is what starts the machine.
type Firmware uint8

// The kinds of firmware. Either makes a disk that starts on both.
const (
	UEFI Firmware = 1 << iota
	BIOS
	Either = UEFI | BIOS
)

// Request is what to install.
type Request struct {
	Firmware Firmware
	// Wipe permits to destroy what is on the disk.
	Wipe bool
	// ImageCache is the size of the image cache in bytes, 0 if there is none.
	ImageCache uint64
	// EFISize and BootSize are the sizes of EFI and BOOT in bytes; 0 is the usual one.
	EFISize, BootSize uint64
	// Identity returns the identifier of the disk, whose name is empty, or of a partition. nil chooses random ones.
	Identity func(name string) gpt.GUID
	// Image is set for a new image file, which is as large as its partitions: a disk to which it is written has room for the others.
	Image bool
}

// Plan is what to write.
type Plan struct {
	// Disk is the name of the disk.
	Disk string
	// Table is the partition table of the installed system.
	Table *gpt.Table
	// Fresh is set for a new image file, in which zeros need not be written and nothing needs to be read back.
	Fresh bool
}

// partition is a partition that is created.
type partition struct {
	label      string
	typ        gpt.GUID
	size       uint64
	attributes uint64
}

// legacyBoot is the attribute of a partition from which a BIOS starts.
const legacyBoot = 1 << 2

// partitions returns the partitions of a request, in the order on the disk.
func (r Request) partitions() []partition {
	efi, boot := uint64(layout.EFISize), uint64(layout.BootSize)

	switch r.Firmware {
	case BIOS:
		efi = layout.EFISizeBIOS
	case Either:
		efi, boot = layout.EFISizeEither, layout.BootSizeEither
	}

	efi, boot = cmp.Or(r.EFISize, efi), cmp.Or(r.BootSize, boot)
	out := []partition{{label: layout.PartitionEFI, typ: gpt.TypeESP, size: efi}}

	if r.Firmware&BIOS != 0 {
		out = append(out,
			partition{label: layout.PartitionBIOS, typ: gpt.TypeBIOS, size: layout.BIOSSize, attributes: legacyBoot},
			partition{label: layout.PartitionBoot, typ: gpt.TypeLinuxData, size: boot})
	}

	out = append(out, partition{label: layout.PartitionMeta, typ: gpt.TypeLinuxData, size: layout.MetaSize})

	if r.ImageCache > 0 {
		out = append(out, partition{label: layout.PartitionImageCache, typ: gpt.TypeLinuxData, size: aligned(r.ImageCache)})
	}

	return out
}

func aligned(size uint64) uint64 {
	return (size + gpt.Alignment - 1) / gpt.Alignment * gpt.Alignment
}

// Size returns how large a disk must be, in bytes.
func (r Request) Size() uint64 {
	// The table and its copy are in what comes before the first partition and after the last.
	size := uint64(2 * gpt.Alignment)
	for _, p := range r.partitions() {
		size += aligned(p.size)
	}

	if !r.Image {
		size += layout.StateSize + layout.EphemeralMinSize
	}

	return size
}

// Errors that callers tell apart.
var (
	// ErrNotEmpty is the error for a disk with something on it.
	ErrNotEmpty = errors.New("the disk is not empty")
	// ErrTooSmall is the error for a disk without room for the system.
	ErrTooSmall = errors.New("the disk is too small")
)

// For plans an installation, or returns why it cannot be.
func For(d Disk, r Request) (*Plan, error) {
	if err := d.usable(r); err != nil {
		return nil, fmt.Errorf("install to %s: %w", d.Name, err)
	}

	t, err := gpt.New(d.Size, d.SectorSize)
	if err != nil {
		return nil, fmt.Errorf("install to %s: %w", d.Name, err)
	}

	identity := r.Identity
	if identity == nil {
		identity = func(string) gpt.GUID { return gpt.GUID{} } // gpt chooses
	} else {
		t.ID = identity("")
	}

	for _, p := range r.partitions() {
		_, err := t.Add(gpt.Partition{Label: p.label, Type: p.typ, ID: identity(p.label), Attributes: p.attributes}, p.size, p.size)
		if err != nil {
			return nil, fmt.Errorf("install to %s: %w", d.Name, err)
		}
	}

	return &Plan{Disk: d.Name, Table: t, Fresh: r.Image}, nil
}

// usable returns why nothing can be installed to a disk.
func (d Disk) usable(r Request) error {
	switch {
	case r.Firmware == 0 || r.Firmware > Either:
		return errors.New("the firmware is not known: choose UEFI, BIOS, or both")
	case len(d.Users) > 0:
		return fmt.Errorf("the disk is in use by %s: choose another disk", strings.Join(d.Users, ", "))
	case d.CDROM:
		return errors.New("it is a CD-ROM: choose another disk")
	case d.ReadOnly:
		return errors.New("the disk is read-only: remove its write protection, or choose another disk")
	case r.Firmware&BIOS != 0 && d.SectorSize != biosSector && d.SectorSize != 0:
		return fmt.Errorf("its sectors have %d bytes, and a BIOS starts from disks whose sectors have %d: choose another disk", d.SectorSize, biosSector)
	case d.Size < r.Size():
		return fmt.Errorf("%w: it has %d MiB, and the system needs %d MiB", ErrTooSmall, d.Size>>20, (r.Size()+1<<20-1)>>20)
	case !r.Wipe && d.Content != "" && !d.Unfinished():
		return fmt.Errorf("%w: it holds %s: permit to wipe it, or choose another disk", ErrNotEmpty, d.content())
	default:
		return nil
	}
}

// content returns what is on the disk, as text.
func (d Disk) content() string {
	if d.Table == nil || len(d.Table.Partitions) == 0 {
		return d.Content
	}

	var labels []string

	for _, p := range d.Table.Partitions {
		label := p.Label
		if label == "" {
			label = fmt.Sprint("number ", p.Number)
		}

		labels = append(labels, label)
	}

	return "the partitions " + strings.Join(labels, ", ")
}

// Unfinished reports whether the disk has what an interrupted installation leaves: its mark, and none of the partition table, or its partitions
// without META.
func (d Disk) Unfinished() bool {
	if d.Table == nil {
		return d.Begun && (d.Content == unknown)
	}

	return d.Begun && !slices.ContainsFunc(d.Table.Partitions, func(p gpt.Partition) bool {
		return !slices.Contains([]string{layout.PartitionEFI, layout.PartitionBIOS, layout.PartitionBoot, layout.PartitionImageCache}, p.Label)
	})
}

// unfinished returns the table without META, which Write writes first.
func (p *Plan) unfinished() *gpt.Table {
	t := *p.Table
	t.Partitions = slices.DeleteFunc(slices.Clone(t.Partitions), func(p gpt.Partition) bool { return p.Label == layout.PartitionMeta })

	return &t
}
