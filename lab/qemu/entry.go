// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"bytes"
	"context"
	"debug/pe"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/seed-59268b81/talos/sys/gpt"
)

// entryName is the boot entry of the lab.
const entryName = "lab.conf"

// sector is the size of the sectors of disk images.
const sector = 512

// Entry is how a lab boots a disk image with other kernel arguments than its own.
type Entry struct {
	// Emulated is set for emulated processors: without isolation of page tables.
	Emulated bool
	// Args are added. The last argument of a name counts.
	Args []string
}

// AddEntry adds a boot entry to a disk image, and makes it the default: the image's unified kernel image with its own arguments, but for
// those of the entry.
//
// The isolation (pti=on) is against Meltdown, which emulated processors do not have. It changes the page tables twice
// in each system call, and each change makes QEMU discard its translations: with QEMU 7.2, a node takes about twice as
// long to be Ready. The kernel's tests of its own ciphers, which would take a quarter of a second, are left out as
// well. So is its test of the timer: on a busy computer an emulated timer is late, and the kernel panics.
//
// The entry that GRUB starts on machines with a BIOS gets the same arguments.
//
// An image without such a kernel image is not changed, which is an error if arguments are to be added.
func AddEntry(ctx context.Context, image string, e Entry) error {
	if !e.Emulated && len(e.Args) == 0 {
		return nil
	}

	added, err := e.add(ctx, image)
	if err == nil {
		var also bool

		also, err = e.addGRUB(image)
		added = added || also
	}

	if err == nil && !added && len(e.Args) > 0 {
		err = errors.New("it has no unified kernel image whose arguments can be changed")
	}

	if err != nil {
		return fmt.Errorf("boot entry in %s: %w", image, err)
	}

	return nil
}

func (e Entry) add(ctx context.Context, image string) (added bool, err error) {
	esp, ok, err := findESP(image)
	if err != nil || !ok {
		return false, err
	}

	dir, err := os.MkdirTemp(filepath.Dir(image), "esp-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)

	// An image of another system has no such files.
	if err := mtool(ctx, "mcopy", "-n", "-i", esp, "::/EFI/Linux/*.efi", "::/loader/loader.conf", dir); err != nil {
		return false, nil
	}

	kernels, err := filepath.Glob(filepath.Join(dir, "*.efi"))
	if err != nil || len(kernels) != 1 {
		return false, err
	}

	args, err := kernelArgs(kernels[0])
	if err != nil {
		return false, err
	}

	entry, ok := e.text(filepath.Base(kernels[0]), args)
	if !ok {
		return false, nil
	}

	return true, e.write(ctx, esp, dir, entry)
}

// write puts the text of the entry into the EFI partition, whose loader.conf is in dir.
func (Entry) write(ctx context.Context, esp, dir, entry string) error {
	conf, err := os.ReadFile(filepath.Join(dir, "loader.conf"))
	if err != nil {
		return err
	}

	conf = append(bytes.TrimRight(conf, "\n"), "\ndefault "+entryName+"\n"...)

	for name, content := range map[string][]byte{"loader.conf": conf, entryName: []byte(entry)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}

	if err := mtool(ctx, "mmd", "-i", esp, "::/loader/entries"); err != nil {
		return err
	}

	if err := mtool(ctx, "mcopy", "-i", esp, filepath.Join(dir, entryName), "::/loader/entries/"+entryName); err != nil {
		return err
	}

	return mtool(ctx, "mcopy", "-o", "-i", esp, filepath.Join(dir, "loader.conf"), "::/loader/loader.conf")
}

// text returns the boot entry, in the form of the Boot Loader Specification. It returns false if the arguments stay the same.
func (e Entry) text(kernel, args string) (entry string, ok bool) {
	words, ok := e.change(strings.Fields(args), "pti=on", "pti=off", func(arg string) string { return arg })

	return fmt.Sprintf("title Talos (lab)\nefi /EFI/Linux/%s\noptions %s\n", kernel, strings.Join(words, " ")), ok
}

// change changes words that are arguments, of which isolated is replaced by open. quoted returns an argument as a word.
func (e Entry) change(words []string, isolated, open string, quoted func(string) string) (changed []string, ok bool) {
	for i, w := range words {
		if e.Emulated && w == isolated {
			words[i], ok = open, true
		}
	}

	if ok {
		words = append(words, quoted("cryptomgr.notests"), quoted("no_timer_check"))
	}

	for _, arg := range e.Args {
		words, ok = append(words, quoted(arg)), true
	}

	return words, ok
}

// kernelArgs returns the arguments in a unified kernel image.
func kernelArgs(uki string) (string, error) {
	f, err := pe.Open(uki)
	if err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(uki), err)
	}
	defer f.Close()

	section := f.Section(".cmdline")
	if section == nil {
		return "", fmt.Errorf("%s: it has no section .cmdline", filepath.Base(uki))
	}

	data, err := section.Data()
	if err != nil {
		return "", fmt.Errorf("%s: section .cmdline: %w", filepath.Base(uki), err)
	}

	if size := int(section.VirtualSize); size < len(data) {
		data = data[:size]
	}

	return string(bytes.TrimRight(data, "\x00")), nil
}

// findESP returns the place of a disk image's EFI partition, in the form of mtools.
func findESP(image string) (where string, ok bool, err error) {
	f, err := os.Open(image)
	if err != nil {
		return "", false, err
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return "", false, err
	}

	table, err := gpt.Read(f, uint64(info.Size()), sector)
	if errors.Is(err, gpt.ErrNoTable) {
		return "", false, nil
	}

	if err != nil {
		return "", false, err
	}

	for _, p := range table.Partitions {
		if p.Type == gpt.TypeESP {
			return fmt.Sprintf("%s@@%d", image, p.First*sector), true, nil
		}
	}

	return "", false, nil
}

func mtool(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "MTOOLS_SKIP_CHECK=1")

	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(out))
	}

	return nil
}
