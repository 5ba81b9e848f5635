// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/sys/efivar"
)

// ProgramPath is where the EFI partition has systemd-boot for firmware without an entry of its own for it.
const ProgramPath = "/EFI/BOOT/BOOTX64.EFI"

// GRUBBootPath and GRUBCorePath are where the EFI partition of a medium has what a machine with a BIOS installs to its disk (install.GRUB).
const (
	GRUBBootPath = "/grub/boot.img"
	GRUBCorePath = "/grub/core.img"
)

// varPartition has the identifier of the EFI partition from which systemd-boot, or the image itself, was started.
var varPartition = efivar.Name{Name: "LoaderDevicePartUUID", Vendor: vendor}

// UKIPath returns the path of an image in the EFI partition.
func UKIPath(id string) string { return path.Join(ukiDir, id) }

// Cmdline returns the command line in a unified kernel image.
func Cmdline(uki install.Source) (string, error) {
	r, err := uki.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()

	b, err := io.ReadAll(io.LimitReader(r, maxHead))
	if err != nil {
		return "", fmt.Errorf("read the unified kernel image: %w", err)
	}

	line, err := cmdlineOf(b)
	if err != nil {
		return "", fmt.Errorf("read the command line in the unified kernel image: %w", err)
	}

	return line, nil
}

// BootPartition returns the identifier of the EFI partition that the machine was started from, in lower case, or "" if the firmware does not
// have it, as of a CD.
func BootPartition(vars efivar.Dir) (string, error) {
	b, err := vars.Get(varPartition)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}

	if err != nil {
		return "", err
	}

	text, err := efivar.DecodeText(b)
	if err != nil {
		return "", fmt.Errorf("EFI variable %s: %w", varPartition.Name, err)
	}

	return strings.ToLower(text), nil
}

// Fresh are the files of the EFI partition of a new system, and the entry that is started.
type Fresh struct {
	Files []install.File
	ID    string
}

// New returns the files of a new system. Arguments other than those in the image are in a file of the entry. Under Secure Boot the image
// ignores them.
func New(program install.Source, s System, args []string) (Fresh, error) {
	id := NewID(s.Version)

	if strings.Join(args, " ") == strings.Join(strings.Fields(s.Cmdline), " ") {
		return Fresh{Files: EFIFiles(program, s.UKI, id), ID: id}, nil
	}

	return withArguments(program, s.UKI, id, s.Version, args)
}

// StartFresh makes the entry of a new system the default: the firmware may have the names of entries that an earlier system had.
func StartFresh(vars efivar.Dir, id string) error {
	if err := vars.Delete(varOnce); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	return vars.Set(varDefault, efivar.EncodeText(id))
}
