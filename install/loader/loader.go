// SPDX-License-Identifier: Apache-2.0

// Package loader changes what a boot loader starts: systemd-boot on machines with UEFI, and GRUB on machines with a BIOS. Both have entries,
// one of which is the default one, and can start another one once: this is how a change of the system is tried.
//
//	            systemd-boot                     GRUB
//	entries     unified kernel images in         folders A, B and C of the partition BOOT, each
//	            /EFI/Linux of the EFI partition  with kernel, initramfs and boot.cfg
//	arguments   those in the image, or in a      in boot.cfg
//	            file of /loader/entries
//	default     variable LoaderEntryDefault      saved_entry in /grub/grubenv
//	once        variable LoaderEntryOneShot      next_entry in /grub/grubenv
//
// An entry exists when it is whole: the last write of Add makes it visible, and the first one of Remove makes it invisible. The loader removes
// the entry that is started once before it starts it. So a system that hangs or panics is followed by the default entry.
//
// systemd-boot starts the highest version when there is no default entry, or a variable was lost. Before Add adds an entry, it makes the one
// that runs the default, if there is none.
package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/sys/fat"
)

// Entry is something that the boot loader can start.
type Entry struct {
	ID      string
	Version string
}

// System is what an entry starts. systemd-boot has UKI, and GRUB the others.
type System struct {
	Version           string
	UKI               install.Source
	Kernel, Initramfs install.Source
	Cmdline           string
}

// startsOnBIOS returns an error for a system that only UEFI can start.
func (s System) startsOnBIOS() error {
	if s.Kernel.Open == nil || s.Initramfs.Open == nil {
		return ErrNoKernel
	}

	return nil
}

// putOn puts a file on the partition with a label.
func putOn(ctx context.Context, label string, f *fat.FS, file install.File) error {
	if err := install.Put(ctx, f, file); err != nil {
		return fmt.Errorf("partition %s: %w", label, err)
	}

	return nil
}

// Loader is a boot loader.
type Loader interface {
	Entries() ([]Entry, error)
	// Booted returns the id of the entry that runs.
	Booted() (string, error)
	// Default returns the id of the default entry, or an empty string if there is none.
	Default() (string, error)
	SetDefault(id string) error
	// SetOnce has the loader start an entry at the next boot only. An empty id undoes that.
	SetOnce(id string) error
	// Add adds an entry, and returns its id. It is not started before SetDefault or SetOnce. Arguments that the system which runs was given
	// besides its own are passed on.
	Add(ctx context.Context, s System) (string, error)
	// Fits returns an error, fat.ErrNoSpace, if a system does not fit even without some entries.
	Fits(s System, without ...string) error
	// Remove removes an entry. The one that runs and the default one cannot be removed. It is not an error if there is none.
	Remove(id string) error
}

// ErrNoEntry is the error for an entry that is not there.
var ErrNoEntry = errors.New("there is no such boot entry")

func exists(l Loader, id string) error {
	entries, err := l.Entries()
	if err != nil {
		return err
	}

	for _, e := range entries {
		if e.ID == id {
			return nil
		}
	}

	return ErrNoEntry
}

// needed returns why an entry cannot be removed.
func needed(l Loader, id string) error {
	booted, err1 := l.Booted()
	byDefault, err2 := l.Default()

	switch err := errors.Join(err1, err2); {
	case err != nil:
		return err
	case id == booted:
		return errors.New("it runs")
	case id == byDefault:
		return errors.New("it is the default entry")
	default:
		return nil
	}
}

// Unneeded returns all entries except the one that runs, the default one, and those to keep.
func Unneeded(l Loader, keep ...string) ([]string, error) {
	entries, err := l.Entries()
	if err != nil {
		return nil, err
	}

	var ids []string

	for _, e := range entries {
		if !slices.Contains(keep, e.ID) && needed(l, e.ID) == nil {
			ids = append(ids, e.ID)
		}
	}

	return ids, nil
}

// Collect removes the entries of Unneeded. It returns what it removed.
func Collect(l Loader, keep ...string) (removed []string, err error) {
	ids, err := Unneeded(l, keep...)
	if err != nil {
		return nil, fmt.Errorf("remove old boot entries: %w", err)
	}

	for _, id := range ids {
		if err := l.Remove(id); err != nil {
			return removed, fmt.Errorf("remove old boot entries: %w", err)
		}

		removed = append(removed, id)
	}

	return removed, nil
}
