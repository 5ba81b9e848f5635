// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/install/upgrade"
	"github.com/seed-59268b81/talos/sys/efivar"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/test/powercut"
)

const size = 40 << 20

// image writes a release whose unified kernel image has as many bytes.
func image(t *testing.T, version string, bytes int) *release.Image {
	t.Helper()

	dir := t.TempDir()
	files := map[string]string{}

	for name, text := range map[string]string{
		release.UKI: strings.Repeat("u", bytes), release.Loader: "systemd-boot",
		release.Kernel: "kernel", release.Initramfs: strings.Repeat("i", bytes),
	} {
		files[name] = filepath.Join(dir, name)
		if err := os.WriteFile(files[name], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	layers, err := release.Trees(filepath.Join(dir, "trees"), release.Manifest{Version: version, Arch: "amd64", MinFrom: "v1.0.0"}, files)
	if err != nil {
		t.Fatal(err)
	}

	layout := filepath.Join(dir, "layout")
	if err := ociimage.Write(layout, ociimage.Image{
		Reference: "registry.test/installer:" + version, Layers: []ociimage.Tree{ociimage.Tree(layers[0]), ociimage.Tree(layers[1])},
	}); err != nil {
		t.Fatal(err)
	}

	r, err := release.Open(release.Layout(layout))
	if err != nil {
		t.Fatal(err)
	}

	return r
}

type machine struct {
	t      *testing.T
	loader *loader.Installed
}

// closed is a partition.
type closed struct{ *powercut.Disk }

func (closed) Close() error { return nil }

// newMachine returns a machine that runs v1.0.0, and was started by systemd-boot.
func newMachine(t *testing.T) *machine {
	t.Helper()

	id := loader.NewID("v1.0.0")

	return startedFrom(t, "EFI", loader.EFIFiles(install.Bytes([]byte("loader")), install.Bytes([]byte("uki")), id), id)
}

// newBIOS returns a machine that runs v1.0.0, and was started by GRUB.
func newBIOS(t *testing.T) *machine {
	t.Helper()

	files, err := loader.BootFiles(loader.System{
		Version: "v1.0.0", Kernel: install.Bytes([]byte("kernel")), Initramfs: install.Bytes([]byte("initramfs")),
	})
	if err != nil {
		t.Fatal(err)
	}

	return startedFrom(t, "BOOT", files, "A")
}

// startedFrom returns a machine with a partition for entries.
func startedFrom(t *testing.T, label string, files []install.File, id string) *machine {
	t.Helper()

	disk := powercut.New(size)

	f, err := fat.Format(disk, fat.Options{Size: size, SectorSize: 512, Label: label})
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range files {
		if err := install.Put(t.Context(), f, file); err != nil {
			t.Fatal(err)
		}
	}

	m := &machine{t: t, loader: &loader.Installed{
		Open: func() (loader.Partition, int64, error) { return closed{disk}, size, nil }, Vars: efivar.Dir(t.TempDir()),
		BIOS: label == "BOOT",
	}}
	m.starts(id)

	return m
}

// starts is a start of the machine: systemd-boot says which entry it has started, and GRUB starts a kernel with its name.
func (m *machine) starts(id string) {
	m.t.Helper()

	if m.loader.BIOS {
		m.loader.Cmdline = "quiet talos.boot.entry=" + id

		return
	}

	name := efivar.Name{Name: "LoaderEntrySelected", Vendor: uuid.MustParse("4a67b082-0a4c-41cf-b6c7-440b29bb8c4f")}
	if err := m.loader.Vars.Set(name, efivar.EncodeText(id)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) add(r *release.Image, from string) (upgrade.Change, []string, error) {
	var (
		change upgrade.Change
		said   []string
	)

	err := m.loader.Use(func(l loader.Loader) (err error) {
		change, err = upgrade.Add(m.t.Context(), l, r, "amd64", from, func(text string) { said = append(said, text) })

		return err
	})

	return change, said, err
}

// commit makes what runs the default, as a trial does, and removes what is not needed.
func (m *machine) commit(c trial.Change, state trial.State) trial.Record {
	m.t.Helper()

	r := trial.Record{ID: "x", State: state, Entry: c}
	runs := map[trial.State]string{trial.Committed: c.To, trial.Reverted: c.From}[state]

	m.starts(runs)

	if err := m.loader.Use(func(l loader.Loader) error {
		return errors.Join(l.SetDefault(runs), upgrade.Collect(l, r))
	}); err != nil {
		m.t.Fatal(err)
	}

	return r
}

func (m *machine) entries(want ...string) {
	m.t.Helper()

	var got []string

	if err := m.loader.Use(func(l loader.Loader) error {
		list, err := l.Entries()
		for _, e := range list {
			got = append(got, e.Version)
		}

		return err
	}); err != nil || !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		m.t.Errorf("entries: got %v, %v; want %v", got, err, want)
	}
}

func (m *machine) previous(last trial.Record) (upgrade.Change, error) {
	var change upgrade.Change

	err := m.loader.Use(func(l loader.Loader) (err error) {
		change, err = upgrade.Previous(l, last)

		return err
	})

	return change, err
}

// TestChain is a machine's life: upgrades that stay, one that does not, and the way back.
func TestChain(t *testing.T) {
	t.Run("systemd-boot", func(t *testing.T) { chain(t, newMachine(t), "Talos-v1.1.0.efi", "Talos-v1.1.0~1.efi") })
	t.Run("GRUB", func(t *testing.T) { chain(t, newBIOS(t), "B", "A") })
}

// chain is a life in which the first upgrade has one entry, and the last one another.
func chain(t *testing.T, m *machine, firstEntry, lastEntry string) {
	if _, err := m.previous(trial.Record{}); !errors.Is(err, upgrade.ErrNoPrevious) {
		t.Errorf("a new machine: got %v, want %v", err, upgrade.ErrNoPrevious)
	}

	first, said, err := m.add(image(t, "v1.1.0", 1000), "v1.0.0")
	if err != nil || first.FromVersion != "v1.0.0" || first.ToVersion != "v1.1.0" {
		t.Fatalf("got %+v, %v", first, err)
	}

	if want := []string{"writing v1.1.0, 1 MiB", "added boot entry " + firstEntry}; !slices.Equal(said, want) {
		t.Errorf("got %q, want %q", said, want)
	}

	last := m.commit(first.Change, trial.Committed)
	m.entries("v1.0.0", "v1.1.0")

	if back, err := m.previous(last); err != nil || back.To != first.From || back.ToVersion != "v1.0.0" {
		t.Errorf("got %+v, %v", back, err)
	}

	// A failed upgrade leaves what was there.
	second, _, err := m.add(image(t, "v1.2.0", 1000), "v1.1.0")
	if err != nil {
		t.Fatal(err)
	}

	last = m.commit(second.Change, trial.Reverted)
	m.entries("v1.0.0", "v1.1.0")

	if back, err := m.previous(last); err != nil || back.ToVersion != "v1.0.0" {
		t.Errorf("after a revert: got %+v, %v", back, err)
	}

	// One that stays takes the place of the oldest.
	if second, _, err = m.add(image(t, "v1.2.0", 1000), "v1.1.0"); err != nil {
		t.Fatal(err)
	}

	last = m.commit(second.Change, trial.Committed)
	m.entries("v1.1.0", "v1.2.0")

	// The way back, and forth again.
	back, err := m.previous(last)
	if err != nil || back.ToVersion != "v1.1.0" {
		t.Fatalf("got %+v, %v", back, err)
	}

	last = m.commit(back.Change, trial.Committed)
	m.entries("v1.1.0", "v1.2.0")

	if forth, err := m.previous(last); err != nil || forth.ToVersion != "v1.2.0" {
		t.Errorf("got %+v, %v", forth, err)
	}

	// The same version again is another entry.
	if again, _, err := m.add(image(t, "v1.1.0", 1000), "v1.1.0"); err != nil || again.To != lastEntry {
		t.Errorf("got %+v, %v", again, err)
	}
}

// TestNotForBIOS has a release that only UEFI can start.
func TestNotForBIOS(t *testing.T) {
	m := newBIOS(t)
	r := image(t, "v1.1.0", 1000)
	r.Files = slices.DeleteFunc(r.Files, func(f release.File) bool { return f.Name == release.Kernel || f.Name == release.Initramfs })

	if _, _, err := m.add(r, "v1.0.0"); !errors.Is(err, loader.ErrNoKernel) {
		t.Errorf("got %v, want %v", err, loader.ErrNoKernel)
	}

	m.entries("v1.0.0")
}

// TestRefused changes nothing.
func TestRefused(t *testing.T) {
	m := newMachine(t)
	small := image(t, "v1.1.0", 1000)

	if _, _, err := m.add(small, "v0.9.0"); !errors.Is(err, release.ErrTooNew) {
		t.Errorf("got %v, want %v", err, release.ErrTooNew)
	}

	err := m.loader.Use(func(l loader.Loader) error {
		_, err := upgrade.Add(t.Context(), l, small, "arm64", "v1.0.0", func(string) {})

		return err
	})
	if !errors.Is(err, release.ErrArch) {
		t.Errorf("got %v, want %v", err, release.ErrArch)
	}

	if _, _, err := m.add(image(t, "v1.1.0", size), "v1.0.0"); !errors.Is(err, fat.ErrNoSpace) {
		t.Errorf("got %v, want %v", err, fat.ErrNoSpace)
	}

	m.entries("v1.0.0")

	// What runs is not what the next boot starts.
	change, _, err := m.add(small, "v1.0.0")
	if err != nil {
		t.Fatal(err)
	}

	m.starts(change.To)

	if _, _, err := m.add(small, "v1.1.0"); !errors.Is(err, upgrade.ErrNotDefault) {
		t.Errorf("got %v, want %v", err, upgrade.ErrNotDefault)
	}

	m.starts("other.efi")

	if _, err := m.previous(trial.Record{}); !errors.Is(err, upgrade.ErrUnknownEntry) {
		t.Errorf("got %v, want %v", err, upgrade.ErrUnknownEntry)
	}
}

// TestMakesRoom removes what no one needs only when there is no space without.
func TestMakesRoom(t *testing.T) {
	m := newMachine(t)

	const large = 15 << 20

	change := upgrade.Change{}

	for i, version := range []string{"v1.1.0", "v1.2.0", "v1.3.0"} {
		var (
			said []string
			err  error
		)

		if change, said, err = m.add(image(t, version, large), "v1.0.0"); err != nil {
			t.Fatal(err)
		}

		if made := slices.ContainsFunc(said, func(s string) bool { return strings.HasSuffix(s, " to make room") }); made != (i == 2) {
			t.Errorf("%s: %q", version, said)
		}
	}

	m.entries("v1.0.0", "v1.3.0")

	if change.From != "Talos-v1.0.0.efi" {
		t.Errorf("got %+v", change)
	}
}

// TestMakesNoRoomInVain keeps the earlier version, to which one may go back, when a release does not fit without it either.
func TestMakesNoRoomInVain(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *machine{"UEFI": newMachine, "BIOS": newBIOS} {
		t.Run(name, func(t *testing.T) {
			m := start(t)

			if _, _, err := m.add(image(t, "v1.1.0", 15<<20), "v1.0.0"); err != nil {
				t.Fatal(err)
			}

			if _, said, err := m.add(image(t, "v1.2.0", size), "v1.0.0"); !errors.Is(err, fat.ErrNoSpace) || slices.ContainsFunc(said, func(s string) bool {
				return strings.HasPrefix(s, "removed ")
			}) {
				t.Errorf("got %v, %q; want %v and nothing removed", err, said, fat.ErrNoSpace)
			}

			m.entries("v1.0.0", "v1.1.0")

			if _, _, err := m.add(image(t, "v1.2.0", 30<<20), "v1.0.0"); err != nil {
				t.Errorf("one that fits without it: %v", err)
			}

			m.entries("v1.0.0", "v1.2.0")
		})
	}
}
