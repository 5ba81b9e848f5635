// SPDX-License-Identifier: Apache-2.0

package loader_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/sys/efivar"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/test/powercut"
)

const size = 40 << 20

// machine is a disk partition with a boot loader, and its firmware.
type machine struct {
	t    testing.TB
	disk *powercut.Disk
	// vars is the folder of the firmware's variables, empty for a BIOS.
	vars efivar.Dir
	// runs is the id of the entry that runs.
	runs string
}

func system(version string) loader.System {
	text := func(what string) install.Source {
		return install.Bytes([]byte(strings.Repeat(what+" "+version+" ", 3000)))
	}

	return loader.System{Version: version, UKI: text("uki"), Kernel: text("kernel"), Initramfs: text("initramfs"), Cmdline: "console=tty0 x='a b'"}
}

func newMachine(t testing.TB, uefi bool) *machine {
	t.Helper()

	m := &machine{t: t, disk: powercut.New(size)}

	f, err := fat.Format(m.disk, fat.Options{Size: size, SectorSize: 512, Label: "BOOT"})
	if err != nil {
		t.Fatal(err)
	}

	var files []install.File

	if uefi {
		m.vars = efivar.Dir(t.TempDir())
		files = loader.EFIFiles(install.Bytes([]byte("loader")), system("v1").UKI, loader.NewID("v1"))
	} else if files, err = loader.BootFiles(system("v1")); err != nil {
		t.Fatal(err)
	}

	for _, file := range files {
		if err := install.Put(t.Context(), f, file); err != nil {
			t.Fatal(err)
		}
	}

	return m
}

// loader opens the boot loader, as the running system does.
func (m *machine) loader() loader.Loader {
	m.t.Helper()

	f, err := fat.Open(m.disk, size, time.Time{})
	if err != nil {
		m.t.Fatal(err)
	}

	if m.vars != "" {
		return loader.SystemdBoot{ESP: f, Vars: m.vars}
	}

	return loader.GRUB{Boot: f, Cmdline: "quiet talos.boot.entry=" + m.runs + " console=tty0"}
}

func variable(name string) efivar.Name {
	return efivar.Name{Name: name, Vendor: uuid.MustParse("4a67b082-0a4c-41cf-b6c7-440b29bb8c4f")}
}

// start starts the machine as its boot loader does, and returns the version that runs. The entry must be whole.
func (m *machine) start() (string, error) {
	if m.vars != "" {
		return m.startUEFI()
	}

	return m.startBIOS()
}

// startUEFI does what systemd-boot does: names are compared without regard to case, and LoaderEntryOneShot is removed.
func (m *machine) startUEFI() (string, error) {
	f, err := fat.Open(m.disk, size, time.Time{})
	if err != nil {
		return "", err
	}

	list, err := f.List("/EFI/Linux")
	if err != nil || len(list) == 0 {
		return "", errors.Join(err, errors.New("there is no entry"))
	}

	chosen := list[0].Name // the highest name
	for _, e := range list {
		chosen = max(chosen, e.Name)
	}

	for _, name := range []string{"LoaderEntryDefault", "LoaderEntryOneShot"} {
		b, err := m.vars.Get(variable(name))
		if err != nil {
			continue
		}

		want, err := efivar.DecodeText(b)
		if err != nil {
			return "", err
		}

		for _, e := range list {
			if strings.EqualFold(e.Name, want) {
				chosen = e.Name
			}
		}
	}

	if err := m.vars.Delete(variable("LoaderEntryOneShot")); err != nil {
		return "", err
	}

	if err := m.vars.Set(variable("LoaderEntrySelected"), efivar.EncodeText(strings.ToLower(chosen))); err != nil {
		return "", err
	}

	m.runs = chosen

	return whole(f, "uki", "/EFI/Linux/"+chosen)
}

// startBIOS does what grub.cfg says.
func (m *machine) startBIOS() (string, error) {
	f, err := fat.Open(m.disk, size, time.Time{})
	if err != nil {
		return "", err
	}

	b, err := f.ReadFile("/grub/grubenv", 1024)
	if err != nil {
		return "", err
	}

	vars := map[string]string{}

	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			vars[name] = value
		}
	}

	chosen := vars["saved_entry"]
	if next := vars["next_entry"]; next != "" {
		chosen = next

		// GRUB writes the blocks of the file in place.
		text := strings.Replace(string(b), "next_entry="+next+"\n", "next_entry=\n", 1)
		text += "#"
		m.inPlace(string(b), text)
	}

	if _, err := f.ReadFile("/"+chosen+"/boot.cfg", 4096); err != nil {
		chosen = vars["saved_entry"]
	}

	m.runs = chosen

	version, err1 := whole(f, "kernel", "/"+chosen+"/vmlinuz")
	other, err2 := whole(f, "initramfs", "/"+chosen+"/initramfs.img")

	if version != other {
		err2 = errors.Join(err2, fmt.Errorf("kernel of %s with the initramfs of %s", version, other))
	}

	return version, errors.Join(err1, err2)
}

// inPlace overwrites the content of a file where it is on the disk.
func (m *machine) inPlace(old, next string) {
	m.t.Helper()

	b := make([]byte, 4<<20) // all files are at the start
	if _, err := m.disk.ReadAt(b, 0); err != nil {
		m.t.Fatal(err)
	}

	// Files that were replaced are on the disk too: the one that is in use has to change, so all do.
	for at := 0; ; at++ {
		i := strings.Index(string(b[at:]), old)
		if i < 0 {
			break
		}

		at += i
		if _, err := m.disk.WriteAt([]byte(next[:len(old)]), int64(at)); err != nil {
			m.t.Fatal(err)
		}
	}
}

// whole returns the version of a file that is whole.
func whole(f *fat.FS, what, path string) (string, error) {
	b, err := f.ReadFile(path, 1<<20)
	if err != nil {
		return "", err
	}

	for _, version := range []string{"v1", "v2", "v3"} {
		if want := strings.Repeat(what+" "+version+" ", 3000); string(b) == want {
			return version, nil
		}
	}

	return "", fmt.Errorf("%s: %d bytes are not a whole %s", path, len(b), what)
}

func kinds(t *testing.T, do func(t *testing.T, m *machine)) {
	for name, uefi := range map[string]bool{"systemd-boot": true, "GRUB": false} {
		t.Run(name, func(t *testing.T) { do(t, newMachine(t, uefi)) })
	}
}

// TestLife is one suite for both boot loaders: a new system is tried, fails, is tried again, and becomes the default.
func TestLife(t *testing.T) {
	kinds(t, func(t *testing.T, m *machine) {
		starts := func(want string) {
			t.Helper()

			if got, err := m.start(); err != nil || got != want {
				t.Fatalf("got %s, %v; want %s", got, err, want)
			}
		}
		check := func(err error) {
			t.Helper()

			if err != nil {
				t.Fatal(err)
			}
		}
		add := func(version string) string {
			t.Helper()

			id, err := m.loader().Add(t.Context(), system(version))
			check(err)

			return id
		}

		starts("v1")
		first := m.runs

		second := add("v2")
		starts("v1") // an entry that is added changes nothing

		check(m.loader().SetOnce(second))
		starts("v2")

		if id, err := m.loader().Booted(); err != nil || id != second {
			t.Errorf("booted: got %q, %v; want %s", id, err, second)
		}

		starts("v1") // it hangs, and was tried once

		check(m.loader().SetOnce(second))
		check(m.loader().SetOnce(""))
		starts("v1")

		check(m.loader().SetOnce(second))
		starts("v2")
		check(m.loader().SetDefault(second))
		starts("v2")

		if id, err := m.loader().Default(); err != nil || id != second {
			t.Errorf("default: got %q, %v; want %s", id, err, second)
		}

		var versions []string

		entries, err := m.loader().Entries()
		check(err)

		for _, e := range entries {
			versions = append(versions, e.Version)
		}

		if d := cmp.Diff([]string{"v1", "v2"}, versions); d != "" {
			t.Errorf("versions (-want +got):\n%s", d)
		}

		// The third takes the place of the first, where there are two.
		check(m.loader().Remove(first))
		check(m.loader().Remove(first))

		third := add("v3")
		starts("v2")

		for id, want := range map[string]string{second: "remove boot entry " + second + ": it runs"} {
			if err := m.loader().Remove(id); err == nil || err.Error() != want {
				t.Errorf("got %v, want %q", err, want)
			}
		}

		check(m.loader().SetOnce(third))

		if removed, err := loader.Collect(m.loader(), third); err != nil || len(removed) > 0 {
			t.Errorf("got %v, %v", removed, err)
		}

		if removed, err := loader.Collect(m.loader()); err != nil || len(removed) != 1 || removed[0] != third {
			t.Errorf("got %v, %v; want %s", removed, err, third)
		}

		starts("v2") // what is started once was removed

		for _, err := range []error{m.loader().SetDefault(third), m.loader().SetOnce(third)} {
			if !errors.Is(err, loader.ErrNoEntry) {
				t.Errorf("got %v, want %v", err, loader.ErrNoEntry)
			}
		}
	})
}

// TestBadSource adds a system whose source is damaged: nothing is added, and the space is free again.
func TestBadSource(t *testing.T) {
	kinds(t, func(t *testing.T, m *machine) {
		if _, err := m.start(); err != nil {
			t.Fatal(err)
		}

		bad := system("v2")
		bad.UKI.SHA256 = strings.Repeat("0", 64)
		bad.Initramfs.SHA256 = bad.UKI.SHA256

		if _, err := m.loader().Add(t.Context(), bad); err == nil || !strings.HasPrefix(err.Error(), "add boot entry for v2: partition ") {
			t.Errorf("got %v", err)
		}

		large := system("v2")
		open := func() (io.ReadCloser, error) { return os.Open("/dev/zero") }
		large.UKI = install.Source{Size: size, Open: open}
		large.Kernel = large.UKI

		if _, err := m.loader().Add(t.Context(), large); !errors.Is(err, fat.ErrNoSpace) {
			t.Errorf("got %v, want %v", err, fat.ErrNoSpace)
		}

		entries, err := m.loader().Entries()
		if err != nil || len(entries) != 1 {
			t.Errorf("got %v, %v", entries, err)
		}

		if got, err := m.start(); err != nil || got != "v1" {
			t.Errorf("got %s, %v", got, err)
		}
	})
}

func TestNewID(t *testing.T) {
	for _, tt := range []struct{ version, taken, want string }{
		{"v1.2.3", "", "Talos-v1.2.3.efi"},
		{"v1.2.3", "talos-V1.2.3.EFI", "Talos-v1.2.3~1.efi"},
		{"v1.2.3-alpha.1+5", "", "Talos-v1.2.3-alpha.1-5.efi"}, // not a boot counter
		{"v1*[x]?/..", "", "Talos-v1-x-.efi"},
	} {
		if got := loader.NewID(tt.version, tt.taken); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.version, got, tt.want)
		}
	}
}

// TestUnknownDefault adds an entry to systemd-boot, which would start the new one when it has no default.
func TestUnknownDefault(t *testing.T) {
	m := newMachine(t, true)

	// The only entry becomes the default, though the firmware does not say that it runs.
	if _, err := m.loader().Add(t.Context(), system("v2")); err != nil {
		t.Fatal(err)
	}

	if got, err := m.start(); err != nil || got != "v1" {
		t.Errorf("got %s, %v", got, err)
	}

	// The variables are lost, and there are two.
	for _, name := range []string{"LoaderEntryDefault", "LoaderEntrySelected"} {
		if err := m.vars.Delete(variable(name)); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := m.loader().Add(t.Context(), system("v3")); err == nil || !strings.Contains(err.Error(), "there is no default boot entry") {
		t.Errorf("got %v", err)
	}

	if err := os.WriteFile(filepath.Join(string(m.vars), "LoaderEntryDefault-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"), []byte("1234x"), 0o600); err != nil {
		t.Fatal(err)
	}

	if _, err := m.loader().Default(); err == nil || err.Error() != "find the default boot entry: EFI variable LoaderEntryDefault: text of 1 bytes is not UTF-16" {
		t.Errorf("got %v", err)
	}
}
