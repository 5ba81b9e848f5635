// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/sys/fat"
)

// GRUB is GRUB 2 on a machine with a BIOS, with its partition BOOT.
type GRUB struct {
	Boot *fat.FS
	// Cmdline is the kernel's command line, which has the entry that runs.
	Cmdline string
}

var _ Loader = GRUB{}

// slots are the ids of the entries.
var slots = []string{"A", "B"}

const (
	grubEnv = "/grub/grubenv"
	grubCfg = "/grub/grub.cfg"

	kernelFile    = "vmlinuz"
	initramfsFile = "initramfs.img"
	bootFile      = "boot.cfg"

	savedEntry = "saved_entry"
	nextEntry  = "next_entry"

	// entryArgument is the argument of the kernel that names its entry.
	entryArgument = "talos.boot.entry="
	// versionComment is the start of the line of boot.cfg with the version.
	versionComment = "# version "
)

// grubConfig is the configuration of GRUB, which never changes: what changes is in grubenv, and in the files of the entries. GRUB removes
// the entry that is started once before it starts it. When an entry cannot be read, it starts the default one.
func grubConfig() string {
	b := &strings.Builder{}

	fmt.Fprintf(b, `set timeout=0
set timeout_style=hidden
load_env
set default="${%[1]s}"
set fallback="${%[1]s}"
if [ -n "${%[2]s}" ]; then
  set default="${%[2]s}"
  set %[2]s=
  save_env %[2]s
fi
`, savedEntry, nextEntry)

	for _, slot := range slots {
		fmt.Fprintf(b, "if [ -f /%[1]s/%[2]s ]; then\n  menuentry %[1]s --id %[1]s {\n    source /%[1]s/%[2]s\n  }\nfi\n", slot, bootFile)
	}

	return b.String()
}

// BootFiles returns the files of the partition BOOT of a new system.
func BootFiles(s System) ([]install.File, error) {
	env, err := encodeGRUBEnv(map[string]string{savedEntry: slots[0]})
	if err != nil {
		return nil, err
	}

	entry, err := entryFiles(slots[0], s)

	return append([]install.File{
		{Path: grubCfg, Source: install.Bytes([]byte(grubConfig()))},
		{Path: grubEnv, Source: install.Bytes(env)},
	}, entry...), err
}

// entryFiles returns the files of an entry. The last one makes it visible.
func entryFiles(slot string, s System) ([]install.File, error) {
	text, err := bootConfig(slot, s)

	return []install.File{
		{Path: file(slot, kernelFile), Source: s.Kernel},
		{Path: file(slot, initramfsFile), Source: s.Initramfs},
		{Path: file(slot, bootFile), Source: install.Bytes([]byte(text))},
	}, err
}

func file(slot, name string) string { return "/" + slot + "/" + name }

// bootConfig returns the commands that start an entry. Each argument is quoted, so that GRUB changes nothing in it.
func bootConfig(slot string, s System) (string, error) {
	if strings.ContainsAny(s.Cmdline+s.Version, "\n\r\x00") {
		return "", fmt.Errorf("command line %q: has more than one line", s.Cmdline)
	}

	words := []string{"linux", file(slot, kernelFile)}

	for _, arg := range append(strings.Fields(s.Cmdline), entryArgument+slot) {
		words = append(words, "'"+strings.ReplaceAll(arg, "'", `'\''`)+"'")
	}

	return fmt.Sprintf("%s%s\n%s\ninitrd %s\n", versionComment, s.Version, strings.Join(words, " "), file(slot, initramfsFile)), nil
}

// Entries implements Loader.
func (l GRUB) Entries() ([]Entry, error) {
	var out []Entry

	for _, slot := range slots {
		b, err := l.Boot.ReadFile(file(slot, bootFile), 64<<10)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}

		if err != nil {
			return nil, fmt.Errorf("list boot entries: %w", err)
		}

		line, _, _ := strings.Cut(string(b), "\n")
		version, _ := strings.CutPrefix(line, versionComment)
		out = append(out, Entry{slot, version})
	}

	return out, nil
}

// Booted implements Loader.
func (l GRUB) Booted() (string, error) {
	for _, arg := range strings.Fields(l.Cmdline) {
		if id, ok := strings.CutPrefix(arg, entryArgument); ok && slices.Contains(slots, id) {
			return id, nil
		}
	}

	return "", nil
}

func (l GRUB) vars() (map[string]string, error) {
	b, err := l.Boot.ReadFile(grubEnv, grubEnvSize)
	if err != nil {
		return nil, err
	}

	return parseGRUBEnv(b)
}

// set replaces the file of variables, whose content is the old or the new one at any time.
func (l GRUB) set(name, value string) error {
	vars, err := l.vars()
	if err != nil {
		return err
	}

	if vars[name] == value {
		return nil
	}

	vars[name] = value

	b, err := encodeGRUBEnv(vars)
	if err != nil {
		return err
	}

	return install.Put(context.Background(), l.Boot, install.File{Path: grubEnv, Source: install.Bytes(b)})
}

// Default implements Loader.
func (l GRUB) Default() (string, error) {
	vars, err := l.vars()
	if err != nil {
		return "", fmt.Errorf("find the default boot entry: %w", err)
	}

	return vars[savedEntry], nil
}

// SetDefault implements Loader.
func (l GRUB) SetDefault(id string) error {
	err := exists(l, id)
	if err == nil {
		err = l.set(savedEntry, id)
	}

	if err != nil {
		return fmt.Errorf("make %s the default boot entry: %w", id, err)
	}

	return nil
}

// SetOnce implements Loader.
func (l GRUB) SetOnce(id string) error {
	var err error
	if id != "" {
		err = exists(l, id)
	}

	if err == nil {
		err = l.set(nextEntry, id)
	}

	if err != nil {
		return fmt.Errorf("start boot entry %s once: %w", id, err)
	}

	return nil
}

// Add implements Loader: it takes the slot that is not needed.
func (l GRUB) Add(ctx context.Context, s System) (string, error) {
	id, err := l.add(ctx, s)
	if err != nil {
		return "", fmt.Errorf("add boot entry for %s: %w", s.Version, err)
	}

	return id, nil
}

func (l GRUB) add(ctx context.Context, s System) (string, error) {
	i := slices.IndexFunc(slots, func(slot string) bool { return needed(l, slot) == nil })
	if i < 0 {
		return "", fmt.Errorf("both entries are needed: one runs, and the other is the default one")
	}

	slot := slots[i]

	files, err := entryFiles(slot, s)
	if err != nil {
		return "", err
	}

	if err := l.remove(slot); err != nil {
		return "", err
	}

	if _, err := l.Boot.Reclaim(); err != nil {
		return "", err
	}

	for _, f := range files {
		if err := install.Put(ctx, l.Boot, f); err != nil {
			return "", err
		}
	}

	return slot, nil
}

// Remove implements Loader.
func (l GRUB) Remove(id string) error {
	err := needed(l, id)
	if err == nil {
		err = l.remove(id)
	}

	if err != nil {
		return fmt.Errorf("remove boot entry %s: %w", id, err)
	}

	return nil
}

func (l GRUB) remove(slot string) error {
	if !slices.Contains(slots, slot) {
		return nil
	}

	vars, err := l.vars()
	if err == nil && vars[nextEntry] == slot {
		err = l.set(nextEntry, "")
	}

	if err != nil {
		return err
	}

	for _, name := range []string{bootFile, initramfsFile, kernelFile} {
		if err := l.Boot.Remove(file(slot, name)); err != nil {
			return err
		}
	}

	return nil
}
