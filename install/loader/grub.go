// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/fat"
)

// GRUB is GRUB 2 on a machine with a BIOS, with its partition BOOT.
type GRUB struct {
	Boot *fat.FS
	// Cmdline is the kernel's command line, which has the entry that runs.
	Cmdline string
}

var _ Loader = GRUB{}

// slots are the ids of the entries: one that runs, one that it has replaced, and one that is tried.
var slots = []string{"A", "B", "C"}

const (
	grubEnv = "/grub/grubenv"
	grubCfg = "/grub/grub.cfg"

	kernelFile    = "vmlinuz"
	initramfsFile = "initramfs.img"
	bootFile      = "boot.cfg"

	savedEntry = "saved_entry"
	nextEntry  = "next_entry"
	// loaded is the variable that boot.cfg sets when the kernel and the initramfs are in memory.
	loaded = "loaded"

	// entryArgument is the argument of the kernel that names its entry.
	entryArgument = "talos.boot.entry="
	// versionComment is the start of the line of boot.cfg with the version, and argumentsComment that of the line with the system's own
	// arguments. The kernel may be started with more of them.
	versionComment   = "# version "
	argumentsComment = "# arguments "
	// kernelCommand is the start of the line of boot.cfg with all arguments.
	kernelCommand = "linux "
)

// ErrNoKernel is the error for a system that only UEFI can start.
var ErrNoKernel = errors.New("it has no kernel and no initramfs for machines with a BIOS")

// grubConfig is the configuration of GRUB, which never changes: what changes is in grubenv, and in the files of the entries. GRUB removes
// the entry that is started once before it starts it, and does not start it if it cannot be removed. When that entry cannot be read, it
// restarts the machine, since it cannot start a kernel after another one whose initramfs is missing. When the default entry cannot be read, it
// tries the others. There is no menu, whose entries GRUB numbers and whose errors wait for a key. Without superusers, there is no command line
// either.
func grubConfig() string {
	return fmt.Sprintf(`set superusers=
load_env
set once=
if [ -n "${%[2]s}" ]; then
  set next="${%[2]s}"
  set %[2]s=
  if save_env %[2]s; then
    set once="${next}"
  fi
fi
for slot in "${once}" "${%[1]s}" %[3]s; do
  set %[5]s=
  if [ -f "/${slot}/%[4]s" ]; then
    source "/${slot}/%[4]s"
  fi
  if [ -n "${%[5]s}" ]; then
    boot
  fi
  if [ -n "${once}" ]; then
    reboot
  fi
done
`, savedEntry, nextEntry, strings.Join(slots, " "), bootFile, loaded)
}

// BootFiles returns the files of the partition BOOT of a new system.
func BootFiles(s System) ([]install.File, error) {
	return BootFilesWith(s, strings.Fields(s.Cmdline))
}

// BootFilesWith returns the same files with other arguments than the system's own.
func BootFilesWith(s System, args []string) ([]install.File, error) {
	env, err := encodeGRUBEnv(map[string]string{savedEntry: slots[0]})
	if err != nil {
		return nil, err
	}

	entry, err := entryFiles(slots[0], s, args)

	return append([]install.File{
		{Path: grubCfg, Source: install.Bytes([]byte(grubConfig()))},
		{Path: grubEnv, Source: install.Bytes(env)},
	}, entry...), err
}

// entryFiles returns the files of an entry with all its arguments. The last one makes it visible.
func entryFiles(slot string, s System, args []string) ([]install.File, error) {
	if err := s.startsOnBIOS(); err != nil {
		return nil, err
	}

	text, err := bootConfig(slot, s, args)

	return []install.File{
		{Path: file(slot, kernelFile), Source: s.Kernel},
		{Path: file(slot, initramfsFile), Source: s.Initramfs},
		{Path: file(slot, bootFile), Source: install.Bytes([]byte(text))},
	}, err
}

func file(slot, name string) string { return "/" + slot + "/" + name }

// bootConfig returns the commands that start an entry with arguments.
func bootConfig(slot string, s System, args []string) (string, error) {
	if strings.ContainsAny(s.Version+s.Cmdline, "\n\r\x00") {
		return "", fmt.Errorf("version %q, command line %q: has more than one line", s.Version, s.Cmdline)
	}

	words, err := GRUBArguments(strings.Join(append(slices.Clone(args), entryArgument+slot), " "))
	if err != nil {
		return "", err
	}

	return fmt.Sprintf("%s%s\n%s%s\n%s%s %s\nif initrd %s; then set %s=yes; fi\n", versionComment, s.Version, argumentsComment,
		strings.Join(strings.Fields(s.Cmdline), " "), kernelCommand, file(slot, kernelFile), words, file(slot, initramfsFile), loaded), nil
}

// GRUBArguments returns arguments of the kernel as GRUB reads them. Each is quoted, so that GRUB changes nothing in it.
func GRUBArguments(cmdline string) (string, error) {
	if strings.ContainsAny(cmdline, "\n\r\x00") {
		return "", fmt.Errorf("command line %q: has more than one line", cmdline)
	}

	var words []string
	for _, arg := range strings.Fields(cmdline) {
		words = append(words, "'"+strings.ReplaceAll(arg, "'", quote)+"'")
	}

	return strings.Join(words, " "), nil
}

// quote is a quote in a quoted argument.
const quote = `'\''`

// extraOf returns the arguments of an entry that are not the system's own.
func extraOf(text string) []string {
	var own, all []string

	for line := range strings.Lines(text) {
		if arguments, ok := strings.CutPrefix(line, argumentsComment); ok {
			own = strings.Fields(arguments)
		}

		command, ok := strings.CutPrefix(line, kernelCommand)
		if !ok {
			continue
		}

		for i, word := range strings.Fields(command) {
			arg := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(word, "'"), "'"), quote, "'")
			if i > 0 && !strings.HasPrefix(arg, entryArgument) { // the first is the kernel
				all = append(all, arg)
			}
		}
	}

	return without(all, own)
}

// extra returns the arguments with which the entry that runs, or the default one, is started besides its own.
func (l GRUB) extra() ([]string, error) {
	booted, err1 := l.Booted()

	byDefault, err2 := l.Default()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}

	slot := cmp.Or(booted, byDefault)
	if !slices.Contains(slots, slot) {
		return nil, nil
	}

	b, err := l.Boot.ReadFile(file(slot, bootFile), maxConf)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	return extraOf(string(b)), err
}

// Entries implements Loader.
func (l GRUB) Entries() ([]Entry, error) {
	var out []Entry

	for _, slot := range slots {
		b, err := l.Boot.ReadFile(file(slot, bootFile), maxConf)
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

// Add implements Loader: it takes a free slot.
func (l GRUB) Add(ctx context.Context, s System) (string, error) {
	id, err := l.add(ctx, s)
	if err != nil {
		return "", fmt.Errorf("add boot entry for %s: %w", s.Version, err)
	}

	return id, nil
}

func (l GRUB) add(ctx context.Context, s System) (string, error) {
	// This comes first: when there is no place, callers remove entries.
	if err := s.startsOnBIOS(); err != nil {
		return "", err
	}

	entries, err := l.Entries()
	if err != nil {
		return "", err
	}

	i := slices.IndexFunc(slots, func(slot string) bool {
		return !slices.ContainsFunc(entries, func(e Entry) bool { return e.ID == slot })
	})
	if i < 0 {
		return "", fmt.Errorf("%w: there are %d entries, which is the limit", fat.ErrNoSpace, len(slots))
	}

	slot := slots[i]

	extra, err := l.extra()
	if err != nil {
		return "", err
	}

	files, err := entryFiles(slot, s, append(strings.Fields(s.Cmdline), extra...))
	if err != nil {
		return "", err
	}

	// What an interrupted call has left.
	if err := l.remove(slot); err != nil {
		return "", err
	}

	if _, err := l.Boot.Reclaim(); err != nil {
		return "", err
	}

	for _, f := range files {
		if err := putOn(ctx, layout.PartitionBoot, l.Boot, f); err != nil {
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
