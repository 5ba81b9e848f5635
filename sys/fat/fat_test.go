// SPDX-License-Identifier: Apache-2.0

package fat_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/test/powercut"
)

const mib = 1 << 20

var now = time.Date(2023, 11, 14, 22, 13, 20, 0, time.UTC)

func format(t testing.TB, d fat.Device, size uint64) *fat.FS {
	t.Helper()

	f, err := fat.Format(d, fat.Options{Size: size, SectorSize: 512, Label: "EFI", Serial: 0x1234abcd, Time: now})
	if err != nil {
		t.Fatal(err)
	}

	return f
}

func create(t testing.TB, f *fat.FS, path, text string) {
	t.Helper()

	if err := f.MakeFolder(path[:strings.LastIndexByte(path, '/')]); err != nil {
		t.Fatal(err)
	}

	if err := f.Create(fat.File{Path: path, Size: int64(len(text)), Body: strings.NewReader(text)}); err != nil {
		t.Fatal(err)
	}
}

// files returns the contents of all files, by path.
func files(f *fat.FS, dir string) (map[string]string, error) {
	list, err := f.List(dir)
	if err != nil {
		return nil, err
	}

	out := map[string]string{}

	for _, e := range list {
		if e.Folder {
			inner, err := files(f, dir+"/"+e.Name)
			if err != nil {
				return nil, err
			}

			maps.Copy(out, inner)

			continue
		}

		b, err := f.ReadFile(dir+"/"+e.Name, 64*mib)
		if err != nil {
			return nil, err
		}

		out[dir+"/"+e.Name] = string(b)
	}

	return out, nil
}

func TestErrors(t *testing.T) {
	d := powercut.New(40 * mib)
	f := format(t, d, 40*mib)

	create(t, f, "/a/b", "text")
	free := f.Free()

	add := func(path string, size int64, text string) error {
		return f.Create(fat.File{Path: path, Size: size, Body: strings.NewReader(text)})
	}
	refused := errors.New("digest")

	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"no folder":       {add("/x/y", 1, "y"), "create /x/y: file does not exist"},
		"a file on top":   {add("/a/b/c", 1, "y"), "create /a/b/c: b: it is a file, not a folder"},
		"a folder":        {add("/a", 1, "y"), "create /a: it is a folder"},
		"the root":        {add("/", 1, "y"), "create /: it is a folder"},
		"too large":       {add("/big", 1<<32, ""), "create /big: 4294967296 bytes do not fit into a file of FAT32"},
		"no space":        {add("/big", 41*mib, ""), fmt.Sprintf("create /big: not enough free space: 42991616 bytes are needed, %d are free", free)},
		"too short":       {add("/short", 10, "x"), "create /short: read content: 10 of 10 bytes are missing: unexpected EOF"},
		"a bad name":      {add("/a?", 1, "y"), `create /a?: name "a?" is not allowed`},
		"a long name":     {add("/"+strings.Repeat("x", 196), 1, "y"), fmt.Sprintf("create /%[1]s: name %[1]q is longer than 195 characters", strings.Repeat("x", 196))},
		"a wrong content": {f.Create(fat.File{Path: "/a/b", Size: 1, Body: strings.NewReader("y"), Check: func(io.Reader) error { return refused }}), "create /a/b: digest"},
		"a small disk": {func() error {
			_, err := fat.Format(d, fat.Options{Size: 32 * mib, SectorSize: 512})

			return err
		}(), "make FAT32: 32 MiB are too small for FAT32"},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("%s:\n got %v\nwant %s", name, tt.err, tt.want)
		}
	}

	if _, _, err := f.Open("/nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}

	if err := f.Remove("/nothing"); err != nil {
		t.Error(err)
	}

	// Nothing was changed, and nothing was lost.
	if b, err := f.ReadFile("/a/B", 100); err != nil || string(b) != "text" {
		t.Errorf("got %q, %v", b, err)
	}

	if f.Free() != free {
		t.Errorf("got %d free bytes, want %d", f.Free(), free)
	}
}

// TestAnyCut cuts the power at any write of random changes: each file is the old or the new one, and what is free can be used again.
func TestAnyCut(t *testing.T) {
	states := 0

	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 1))
		d := powercut.New(40 * mib)
		f := format(t, d, 40*mib)
		model := map[string]string{}

		for range 8 {
			before := maps.Clone(model)

			d.Forget()
			change(t, rng, f, model)

			for s := range d.States(rng, 3) {
				states++

				after(t, s, before, model)
			}
		}
	}

	t.Logf("%d states", states)
}

// change does one random change, of the file system and of its model.
func change(t *testing.T, rng *rand.Rand, f *fat.FS, model map[string]string) {
	t.Helper()

	path := fmt.Sprintf("/EFI/%s/file-%d.efi", []string{"Linux", "Boot"}[rng.IntN(2)], rng.IntN(20))

	if rng.IntN(4) == 0 {
		if err := f.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}

		delete(model, path)

		return
	}

	model[path] = strings.Repeat(fmt.Sprint(rng.Uint64()), rng.IntN(300))
	create(t, f, path, model[path])
}

func after(t *testing.T, s powercut.State, before, now map[string]string) {
	t.Helper()

	f, err := fat.Open(s, s.Size(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}

	got, err := files(f, "")
	if err != nil {
		t.Fatalf("after %d flushes, %d sectors kept: %v", s.Flushes, s.Kept, err)
	}

	if !maps.Equal(got, before) && !maps.Equal(got, now) {
		t.Fatalf("after %d flushes, %d sectors kept: got the files %v, want the old or the new ones", s.Flushes, s.Kept, slices.Sorted(maps.Keys(got)))
	}

	if _, err := f.Reclaim(); err != nil {
		t.Fatal(err)
	}

	// What was freed is free, and can be used, in a file system that is read again.
	if f, err = fat.Open(s, s.Size(), time.Time{}); err != nil {
		t.Fatal(err)
	}

	used := int64(0)
	for _, text := range got {
		used += (int64(len(text)) + 511) / 512 * 512
	}

	if lost := 40*mib - f.Free() - used; lost > 1*mib { // the tables and the folders
		t.Fatalf("%d bytes are lost", lost)
	}

	create(t, f, "/EFI/Linux/next", "next")

	if again, err := files(f, ""); err != nil || len(again) != len(got)+1 {
		t.Fatalf("%v: got %d files, want %d", err, len(again), len(got)+1)
	}
}

func TestFormatCut(t *testing.T) {
	d := powercut.New(40 * mib)
	format(t, d, 40*mib)

	rng := rand.New(rand.NewPCG(1, 1))
	made := false

	for s := range d.States(rng, 20) {
		f, err := fat.Open(s, s.Size(), now)
		if err != nil {
			continue
		}

		list, err := f.List("/")
		if err != nil || len(list) != 0 {
			t.Fatalf("got %v, %v", list, err)
		}

		made = true
	}

	if !made {
		t.Error("no state has a file system")
	}
}

// TestWriteErrors fails at each write: an error is returned, and what was there is there.
func TestWriteErrors(t *testing.T) {
	for n := int64(0); ; n += 700 {
		d := powercut.New(40 * mib)
		f := format(t, d, 40*mib)
		create(t, f, "/old", "old")

		d.Writable = n
		err := f.Create(fat.File{Path: "/old", Size: 9000, Body: bytes.NewReader(make([]byte, 9000))})
		d.Writable = -1

		again, openErr := fat.Open(d, d.Size(), now)
		if openErr != nil {
			t.Fatal(openErr)
		}

		b, readErr := again.ReadFile("/old", mib)
		if readErr != nil || string(b) != "old" && len(b) != 9000 || err == nil && len(b) != 9000 {
			t.Fatalf("%d bytes written (%v): got %d bytes, %v", n, err, len(b), readErr)
		}

		if err == nil {
			return
		}
	}
}

func FuzzOpen(f *testing.F) {
	whole := powercut.New(40 * mib)
	create(f, format(f, whole, 40*mib), "/EFI/Linux/Talos.efi", "text")

	boot, table, root := make([]byte, 512), make([]byte, 512), make([]byte, 512)
	for _, part := range []struct {
		b  []byte
		at int64
	}{{boot, 0}, {table, 32 * 512}, {root, (32 + 2*641) * 512}} {
		if _, err := whole.ReadAt(part.b, part.at); err != nil {
			f.Fatal(err)
		}
	}

	f.Add(boot, table, root)

	f.Fuzz(func(t *testing.T, boot, table, root []byte) {
		d := whole.Fork()

		// The folder of the root is the first cluster, after the reserved sectors and two tables.
		for _, part := range []struct {
			b  []byte
			at int64
		}{{boot, 0}, {table, 32 * 512}, {root, (32 + 2*641) * 512}} {
			if _, err := d.WriteAt(part.b[:min(len(part.b), 512)], part.at); err != nil {
				t.Fatal(err)
			}
		}

		fsys, err := fat.Open(d, d.Size(), now)
		if err != nil {
			return
		}

		fsys.Free()
		fsys.List("/")
		fsys.List("/EFI")
		fsys.ReadFile("/EFI/Linux/Talos.efi", mib)

		if fsys.Create(fat.File{Path: "/new", Size: 3, Body: strings.NewReader("new")}) == nil {
			if b, err := fsys.ReadFile("/new", 10); err != nil || string(b) != "new" {
				t.Fatalf("got %q, %v", b, err)
			}
		}

		fsys.Remove("/EFI/Linux/Talos.efi")
		fsys.Reclaim()
	})
}

func BenchmarkCreate(b *testing.B) {
	file, err := os.Create(filepath.Join(b.TempDir(), "esp"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()

	if err := file.Truncate(2101 * mib); err != nil {
		b.Fatal(err)
	}

	f := format(b, file, 2101*mib)
	content := make([]byte, 64*mib)

	b.SetBytes(int64(len(content)))
	b.ReportAllocs()

	for b.Loop() {
		if err := f.Create(fat.File{Path: "/uki.efi", Size: int64(len(content)), Body: bytes.NewReader(content)}); err != nil {
			b.Fatal(err)
		}
	}
}
