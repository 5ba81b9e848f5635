// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/efivar"
	"github.com/seed-59268b81/talos/sys/fat"
)

// SystemdBoot is systemd-boot 252 or later, with its EFI partition.
type SystemdBoot struct {
	ESP  *fat.FS
	Vars efivar.Dir
}

var _ Loader = SystemdBoot{}

// vendor is that of the variables of the boot loader interface.
var vendor = uuid.MustParse("4a67b082-0a4c-41cf-b6c7-440b29bb8c4f")

// Variables of the boot loader interface.
var (
	varDefault  = efivar.Name{Name: "LoaderEntryDefault", Vendor: vendor}
	varOnce     = efivar.Name{Name: "LoaderEntryOneShot", Vendor: vendor}
	varSelected = efivar.Name{Name: "LoaderEntrySelected", Vendor: vendor}
)

const (
	ukiDir    = "/EFI/Linux"
	ukiPrefix = "Talos-"
	ukiSuffix = ".efi"

	loaderConfPath = "/loader/loader.conf"
	// loaderConf has no menu unless a key is held, and no editor for arguments.
	loaderConf = "timeout 0\neditor no\n"
)

// EFIFiles returns the files of the EFI partition of a new system, whose name must be that of NewID. The firmware starts the last one, which
// completes the system, when it has no entry for the first.
func EFIFiles(program, uki install.Source, id string) []install.File {
	return []install.File{
		{Path: "/EFI/systemd/systemd-bootx64.efi", Source: program},
		{Path: loaderConfPath, Source: install.Bytes([]byte(loaderConf))},
		{Path: path.Join(ukiDir, id), Source: uki},
		{Path: ProgramPath, Source: program},
	}
}

// unsafe are the characters of versions that mean something to systemd-boot: a name with +5 has a boot counter, and the variables are patterns.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// NewID returns the name of the image of a version that is not taken. Names that differ in their case only are the same.
func NewID(version string, taken ...string) string {
	name := ukiPrefix + strings.Trim(unsafe.ReplaceAllString(version, "-"), ".")

	for n := 0; ; n++ {
		id := name + ukiSuffix
		if n > 0 {
			id = fmt.Sprint(name, "~", n, ukiSuffix)
		}

		if !slices.ContainsFunc(taken, func(t string) bool { return strings.EqualFold(t, id) }) {
			return id
		}
	}
}

// Entries implements Loader. An image that a file of an entry names belongs to that entry.
func (l SystemdBoot) Entries() ([]Entry, error) {
	ukis, err1 := l.ukis()

	all, err2 := l.confs()
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("list boot entries: %w", err)
	}

	var out []Entry

	for _, uki := range ukis {
		id := uki
		if i := slices.IndexFunc(all, func(c conf) bool { return strings.EqualFold(c.uki, uki) }); i >= 0 {
			id = all[i].id
		}

		version, _ := cutFold(uki, ukiPrefix, ukiSuffix)
		version, _, _ = strings.Cut(version, "~")
		out = append(out, Entry{id, version})
	}

	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })

	return out, nil
}

// ukis returns the names of our images.
func (l SystemdBoot) ukis() (out []string, err error) {
	files, err := l.ESP.List(ukiDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	for _, f := range files {
		if _, ok := cutFold(f.Name, ukiPrefix, ukiSuffix); ok && !f.Folder {
			out = append(out, f.Name)
		}
	}

	return out, err
}

// cutFold removes a prefix and a suffix, in any case.
func cutFold(s, prefix, suffix string) (string, bool) {
	if len(s) < len(prefix)+len(suffix) || !strings.EqualFold(s[:len(prefix)], prefix) || !strings.EqualFold(s[len(s)-len(suffix):], suffix) {
		return "", false
	}

	return s[len(prefix) : len(s)-len(suffix)], true
}

// named returns the entry that a variable names, or an empty string. systemd-boot writes names in lower case.
func (l SystemdBoot) named(v efivar.Name) (string, error) {
	b, err := l.Vars.Get(v)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}

	if err != nil {
		return "", err
	}

	name, err := efivar.DecodeText(b)
	if err != nil {
		return "", fmt.Errorf("EFI variable %s: %w", v.Name, err)
	}

	entries, err := l.Entries()
	if err != nil {
		return "", err
	}

	for _, e := range entries {
		if strings.EqualFold(e.ID, name) {
			return e.ID, nil
		}
	}

	return "", nil
}

// Booted implements Loader.
func (l SystemdBoot) Booted() (string, error) {
	id, err := l.named(varSelected)
	if err != nil {
		return "", fmt.Errorf("find the boot entry that runs: %w", err)
	}

	return id, nil
}

// Default implements Loader.
func (l SystemdBoot) Default() (string, error) {
	id, err := l.named(varDefault)
	if err != nil {
		return "", fmt.Errorf("find the default boot entry: %w", err)
	}

	return id, nil
}

// SetDefault implements Loader.
func (l SystemdBoot) SetDefault(id string) error {
	if err := l.set(varDefault, id); err != nil {
		return fmt.Errorf("make %s the default boot entry: %w", id, err)
	}

	return nil
}

// SetOnce implements Loader.
func (l SystemdBoot) SetOnce(id string) error {
	if id == "" {
		return l.Vars.Delete(varOnce)
	}

	if err := l.set(varOnce, id); err != nil {
		return fmt.Errorf("start boot entry %s once: %w", id, err)
	}

	return nil
}

func (l SystemdBoot) set(v efivar.Name, id string) error {
	if err := exists(l, id); err != nil {
		return err
	}

	return l.Vars.Set(v, efivar.EncodeText(id))
}

// Add implements Loader.
func (l SystemdBoot) Add(ctx context.Context, s System) (string, error) {
	id, err := l.add(ctx, s)
	if err != nil {
		return "", fmt.Errorf("add boot entry for %s: %w", s.Version, err)
	}

	return id, nil
}

func (l SystemdBoot) add(ctx context.Context, s System) (string, error) {
	entries, err := l.Entries()
	if err != nil {
		return "", err
	}

	if err := l.pin(entries); err != nil {
		return "", err
	}

	// Those that a power cut left need space.
	if _, err := l.ESP.Reclaim(); err != nil {
		return "", err
	}

	taken, err := l.ukis()
	if err != nil {
		return "", err
	}

	extra, err := l.extra()
	if err != nil {
		return "", err
	}

	id := NewID(s.Version, taken...)
	put := func(f install.File) error { return putOn(ctx, layout.PartitionEFI, l.ESP, f) }

	if err := put(install.File{Path: path.Join(ukiDir, id), Source: s.UKI}); err != nil || len(extra) == 0 || s.Cmdline == "" {
		return id, err
	}

	return l.addConf(id, s, extra, put)
}

// pin makes the entry that runs the default, if there is none.
func (l SystemdBoot) pin(entries []Entry) error {
	id, err := l.Default()
	if err != nil || id != "" {
		return err
	}

	if id, err = l.Booted(); err != nil {
		return err
	}

	if id == "" && len(entries) == 1 {
		id = entries[0].ID
	}

	if id == "" {
		return errors.New("there is no default boot entry, and the firmware does not say which one runs")
	}

	return l.SetDefault(id)
}

// Remove implements Loader.
func (l SystemdBoot) Remove(id string) error {
	if err := l.remove(id); err != nil && !errors.Is(err, ErrNoEntry) {
		return fmt.Errorf("remove boot entry %s: %w", id, err)
	}

	return nil
}

func (l SystemdBoot) remove(id string) error {
	if err := exists(l, id); err != nil {
		return err
	}

	if err := needed(l, id); err != nil {
		return err
	}

	once, err := l.named(varOnce)
	if err == nil && once == id {
		err = l.SetOnce("")
	}

	if err != nil {
		return err
	}

	all, err := l.confs()
	if err != nil {
		return err
	}

	i := slices.IndexFunc(all, func(c conf) bool { return c.id == id })
	if i < 0 {
		return l.ESP.Remove(path.Join(ukiDir, id))
	}

	if err := l.ESP.Remove(path.Join(confDir, id)); err != nil {
		return err
	}

	// Without its file, the image is an entry of its own until it is removed.
	return l.ESP.Remove(path.Join(ukiDir, all[i].uki))
}
