// SPDX-License-Identifier: Apache-2.0

package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/durable"
)

var (
	errPowerCut = errors.New("power cut")
	errFill     = errors.New("half of it")
)

// cutDisk is a disk whose power is cut after a number of operations. Only synced data survives.
type cutDisk struct {
	left         int
	now, durable map[string]string
}

func newCutDisk(files map[string]string, operations int) *cutDisk {
	d := &cutDisk{left: operations, now: map[string]string{}, durable: map[string]string{}}
	for path, text := range files {
		d.now[path], d.durable[path] = text, text
	}

	return d
}

func (d *cutDisk) step() error {
	if d.left == 0 {
		return errPowerCut
	}

	d.left--

	return nil
}

func (d *cutDisk) WriteSynced(path string, content []byte, _ fs.FileMode) error {
	d.now[path] = string(content[:len(content)/2])
	d.durable[path] = d.now[path] // a torn file may well be there after a cut

	if err := d.step(); err != nil {
		return err
	}

	d.now[path], d.durable[path] = string(content), string(content)

	return nil
}

func (d *cutDisk) Rename(from, to string) error {
	if err := d.step(); err != nil {
		return err
	}

	d.now[to] = d.now[from]
	delete(d.now, from)

	return nil
}

func (d *cutDisk) SyncDir(string) error {
	if err := d.step(); err != nil {
		return err
	}

	clear(d.durable)

	for path, text := range d.now {
		d.durable[path] = text
	}

	return nil
}

// A power cut after any operation leaves the old or the new text, and after a completed replacement the new one.
func TestWriteSurvivesPowerCuts(t *testing.T) {
	const path, before, after = "/state/x.yaml", "old", "new, and longer"

	for cut := range 4 {
		d := newCutDisk(map[string]string{path: before}, cut)

		err := durable.WriteTo(d, path, []byte(after), 0o600)
		if got := d.durable[path]; got != after && (err == nil || got != before) {
			t.Errorf("power cut after %d: got %q on disk and error %v, want %q or, with an error, %q", cut, got, err, after, before)
		}

		if (err == nil) != (cut == 3) {
			t.Errorf("power cut after %d: got error %v", cut, err)
		}

		// The leftover of the cut does not block the next write.
		d = newCutDisk(d.durable, 3)
		if err := durable.WriteTo(d, path, []byte(after), 0o600); err != nil {
			t.Errorf("after the power cut: %v", err)
		}

		if diff := cmp.Diff(map[string]string{path: after}, d.durable); diff != "" {
			t.Errorf("after the power cut (-want +got):\n%s", diff)
		}
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")

	check := func(want string, mode fs.FileMode) {
		t.Helper()

		text, err := os.ReadFile(path)
		if err != nil || string(text) != want {
			t.Errorf("got %q, %v; want %q", text, err, want)
		}

		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("got mode %v, %v; want %v", info.Mode(), err, mode)
		}

		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("got %v, %v; want the file alone", entries, err)
		}
	}

	for _, d := range []durable.Files{{}, {Volatile: true}} {
		for _, want := range []string{"long and longer", "short"} {
			if err := durable.WriteTo(d, path, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}

			check(want, 0o600)
		}

		err := d.Replace(path, 0o400, func(f *os.File) error {
			_, err := f.WriteString("streamed")

			return err
		})
		if err != nil {
			t.Fatal(err)
		}

		check("streamed", 0o400)

		err = d.Replace(path, 0o600, func(f *os.File) error {
			_, err := f.WriteString("half")

			return errors.Join(errFill, err)
		})
		if !errors.Is(err, errFill) {
			t.Errorf("a fill that fails: got %v, want its error", err)
		}

		check("streamed", 0o400)
	}

	if err := durable.Write(filepath.Join(dir, "none", "x"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: got %v, want ErrNotExist", err)
	}

	// A folder blocks the rename; the new file is removed.
	path = filepath.Join(dir, "folder")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}

	if err := durable.Write(path, nil, 0o600); err == nil {
		t.Error("a folder in the way: got no error")
	}

	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("a folder in the way: got %v, %v; want the file and the folder", entries, err)
	}
}

func TestLeftovers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")

	// The process is killed while it writes.
	err := durable.Replace(path, 0o600, func(f *os.File) error {
		got, err := durable.Leftovers(path)
		if diff := cmp.Diff([]string{f.Name()}, got); err != nil || diff != "" {
			t.Errorf("leftovers: %v (-want +got):\n%s", err, diff)
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTarget(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")

	if err := errors.Join(os.WriteFile(target, []byte("old"), 0o600), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}

	if err := durable.Write(durable.Target(link), []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}

	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link: got %v, %v; want it to stay one", info, err)
	}

	if text, err := os.ReadFile(target); err != nil || string(text) != "new" {
		t.Errorf("its target: got %q, %v; want the new text", text, err)
	}

	none := filepath.Join(dir, "none")
	if got := durable.Target(none); got != none {
		t.Errorf("no file: got %s, want %s", got, none)
	}
}
