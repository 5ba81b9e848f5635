// SPDX-License-Identifier: Apache-2.0

// Package release is a release of the system as data: an image in the format of the Open Container Initiative (OCI), so that registries and
// mirrors keep it. No program of it ever runs: the running system checks its files and writes them to the disk.
//
//	layer 1   manifest.json: the version, the architecture, and the size and digest of each file
//	layer 2   the files: the unified kernel image and systemd-boot; for machines with a BIOS GRUB
//
// The kernel and the initramfs, which GRUB starts, are parts of the unified kernel image: the manifest says where in it they are.
//
// The manifest is a layer of its own, so everything that can be refused is refused before the large layer is fetched. Digests are those of
// the manifest, whose layer is named by its digest in the image: a signature of the image covers all.
package release

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/seed-59268b81/talos/version"
)

// Names of the files.
const (
	UKI       = "talos.efi"
	Loader    = "systemd-bootx64.efi"
	Kernel    = "vmlinuz"
	Initramfs = "initramfs.img"
	GRUBBoot  = "grub-boot.img"
	GRUBCore  = "grub-core.img"

	manifestName = "manifest.json"
)

// Format is the number of the format. A release that older versions cannot install has a higher one.
const Format = 1

// Limits of a manifest.
const (
	maxManifest = 64 << 10
	maxFiles    = 16
	maxFile     = 4<<30 - 1 // the largest file of FAT
)

// Manifest says what is in an image.
type Manifest struct {
	Format  int    `json:"format"`
	Name    string `json:"name"`
	Version string `json:"version"`
	// Arch is the architecture as Go names it.
	Arch string `json:"arch"`
	// MinFrom is the lowest version that can be upgraded to this one; empty if all can.
	MinFrom string `json:"minFrom,omitempty"`
	// Cmdline is the kernel's command line, which the unified kernel image has too.
	Cmdline string `json:"cmdline,omitempty"`
	Files   []File `json:"files"`
}

// File is a file of an image.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Of is the name of the file that has these bytes at an offset; empty for a file of its own.
	Of     string `json:"of,omitempty"`
	Offset int64  `json:"offset,omitempty"`
}

// Errors that callers tell apart.
var (
	// ErrNotOurs is the error for an image that is not a release of this system.
	ErrNotOurs = errors.New("the image is not a release of " + version.Name)
	// ErrArch is the error for an image of another architecture.
	ErrArch = errors.New("the image is for another architecture")
	// ErrTooNew is the error for an image that this version cannot install.
	ErrTooNew = errors.New("the image is too new for this version")
	// ErrIncomplete is the error for an image of which a part is missing or damaged.
	ErrIncomplete = errors.New("the image is incomplete")
)

// parse reads a manifest.
func parse(b []byte) (Manifest, error) {
	if len(b) > maxManifest {
		return Manifest{}, fmt.Errorf("%w: its manifest has %d bytes, at most %d are allowed", ErrNotOurs, len(b), maxManifest)
	}

	// The format comes first: a newer one may have other fields.
	var head struct {
		Format int    `json:"format"`
		Name   string `json:"name"`
	}

	if err := json.Unmarshal(b, &head); err != nil {
		return Manifest{}, fmt.Errorf("%w: manifest: %w", ErrNotOurs, err)
	}

	switch {
	case head.Name != version.Name || head.Format < 1:
		return Manifest{}, fmt.Errorf("%w: its name is %q", ErrNotOurs, head.Name)
	case head.Format > Format:
		return Manifest{}, fmt.Errorf("%w: it has format %d, and %s knows formats up to %d: upgrade to an earlier release first",
			ErrTooNew, head.Format, version.Tag, Format)
	}

	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return Manifest{}, fmt.Errorf("%w: manifest: %w", ErrNotOurs, err)
	}

	if err := m.valid(); err != nil {
		return Manifest{}, fmt.Errorf("%w: manifest: %w", ErrNotOurs, err)
	}

	return m, nil
}

var (
	fileName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	archName = regexp.MustCompile(`^[a-z0-9]{1,16}$`)
)

func (m Manifest) valid() error {
	switch {
	case !semver.IsValid(m.Version) || len(m.Version) > 64:
		return fmt.Errorf("version %q is not valid", m.Version)
	case m.MinFrom != "" && !semver.IsValid(m.MinFrom):
		return fmt.Errorf("minFrom: version %q is not valid", m.MinFrom)
	case !archName.MatchString(m.Arch):
		return fmt.Errorf("architecture %q is not valid", m.Arch)
	case strings.ContainsAny(m.Cmdline, "\x00\r\n"):
		return errors.New("the command line has more than one line")
	case len(m.Files) > maxFiles:
		return fmt.Errorf("%d files are too many", len(m.Files))
	}

	seen := map[string]bool{}

	for _, f := range m.Files {
		sum, err := hex.DecodeString(f.SHA256)

		switch {
		case !fileName.MatchString(f.Name) || f.Name == manifestName || seen[f.Name]:
			return fmt.Errorf("file %q has a bad name, or is there twice", f.Name)
		case f.Size <= 0 || f.Size > maxFile:
			return fmt.Errorf("file %s has %d bytes", f.Name, f.Size)
		case err != nil || len(sum) != 32 || f.SHA256 != strings.ToLower(f.SHA256):
			return fmt.Errorf("file %s: digest %q is not SHA-256", f.Name, f.SHA256)
		}

		seen[f.Name] = true
	}

	for _, f := range m.Files {
		if whole, _ := m.File(f.Of); f.Of != "" && (whole.Size == 0 || whole.Of != "" || f.Offset < 0 || f.Offset > whole.Size-f.Size) {
			return fmt.Errorf("file %s is not in file %q", f.Name, f.Of)
		}
	}

	for _, name := range []string{UKI, Loader} {
		if !seen[name] {
			return fmt.Errorf("file %s is missing", name)
		}
	}

	for _, pair := range [][2]string{{Kernel, Initramfs}, {GRUBBoot, GRUBCore}} {
		if seen[pair[0]] != seen[pair[1]] {
			return fmt.Errorf("one of the files %s and %s is missing", pair[0], pair[1])
		}
	}

	return nil
}

// For returns why a machine with an architecture cannot install the release. from is the version that runs, empty for a new machine.
func (m Manifest) For(arch, from string) error {
	switch {
	case m.Arch != arch:
		return fmt.Errorf("%w: %s is for %s, and this machine is %s", ErrArch, m.Version, m.Arch, arch)
	case from != "" && m.MinFrom != "" && semver.Compare(from, m.MinFrom) < 0:
		return fmt.Errorf("%w: %s can be installed over %s or later, and %s runs: upgrade to %s first", ErrTooNew, m.Version, m.MinFrom, from, m.MinFrom)
	default:
		return nil
	}
}

// File returns a file by its name.
func (m Manifest) File(name string) (File, bool) {
	for _, f := range m.Files {
		if f.Name == name {
			return f, true
		}
	}

	return File{}, false
}
