// SPDX-License-Identifier: Apache-2.0

package release_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/install/release"
)

// contents are the files of a release, by name. The kernel is a part of the unified kernel image, and the initramfs is not.
var contents = map[string]string{
	release.UKI: strings.Repeat("uki ", 50_000) + "kernel" + strings.Repeat(" uki", 50_000), release.Loader: "systemd-boot",
	release.Kernel: "kernel", release.Initramfs: "initramfs",
}

// pack writes an image with these layers, each with files by name, and returns the layout.
func pack(t testing.TB, layers ...map[string]string) string {
	t.Helper()

	dir := t.TempDir()
	image := ociimage.Image{Reference: "registry.test/installer:v1.2.3"}

	for _, files := range layers {
		tree, err := os.MkdirTemp(dir, "layer-")
		if err != nil {
			t.Fatal(err)
		}

		for name, text := range files {
			if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}

		image.Layers = append(image.Layers, ociimage.Tree(tree))
	}

	layout := filepath.Join(dir, "layout")
	if err := ociimage.Write(layout, image); err != nil {
		t.Fatal(err)
	}

	return layout
}

// written returns a release as the build writes it.
func written(t testing.TB) string {
	t.Helper()

	dir := t.TempDir()
	files := map[string]string{}

	for name, text := range contents {
		files[name] = filepath.Join(dir, "source-"+name)
		if err := os.WriteFile(files[name], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	layers, err := release.Trees(filepath.Join(dir, "trees"), release.Manifest{Version: "v1.2.3", Arch: "amd64", MinFrom: "v1.1.0", Cmdline: "console=tty0"}, files)
	if err != nil {
		t.Fatal(err)
	}

	layout := filepath.Join(dir, "layout")

	if err := ociimage.Write(layout, ociimage.Image{
		Reference: "registry.test/installer:v1.2.3", Layers: []ociimage.Tree{ociimage.Tree(layers[0]), ociimage.Tree(layers[1])},
	}); err != nil {
		t.Fatal(err)
	}

	return layout
}

func TestRelease(t *testing.T) {
	image, err := release.Open(release.Layout(written(t)))
	if err != nil {
		t.Fatal(err)
	}

	got := map[string]string{}

	for _, f := range image.Files {
		source, err := image.Source(f.Name)
		if err != nil {
			t.Fatal(err)
		}

		for range 2 { // it can be opened again
			r, err := source.Open()
			if err != nil {
				t.Fatal(err)
			}

			b, err := io.ReadAll(r)
			if err = errors.Join(err, r.Close()); err != nil || int64(len(b)) != source.Size {
				t.Fatalf("%s: got %d bytes, %v; want %d", f.Name, len(b), err, source.Size)
			}

			got[f.Name] = string(b)
		}
	}

	if d := cmp.Diff(contents, got); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}

	kernel, _ := image.File(release.Kernel)
	initramfs, _ := image.File(release.Initramfs)

	if kernel.Of != release.UKI || kernel.Offset != 200_000 || initramfs.Of != "" {
		t.Errorf("the kernel is at %d of %q, and the initramfs in %q", kernel.Offset, kernel.Of, initramfs.Of)
	}

	if image.Version != "v1.2.3" || image.Cmdline != "console=tty0" {
		t.Errorf("got %+v", image.Manifest)
	}

	if _, err := image.Source("nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}

	for _, tt := range []struct {
		arch, from string
		is         error
		want       string
	}{
		{"amd64", "", nil, ""},
		{"amd64", "v1.1.0", nil, ""},
		{"arm64", "v1.2.0", release.ErrArch, "the image is for another architecture: v1.2.3 is for amd64, and this machine is arm64"},
		{"amd64", "v1.0.9", release.ErrTooNew, "the image is too new for this version: v1.2.3 can be installed over v1.1.0 or later, and v1.0.9 runs: upgrade to v1.1.0 first"},
	} {
		err := image.For(tt.arch, tt.from)
		if !errors.Is(err, tt.is) || err != nil && err.Error() != tt.want {
			t.Errorf("%s, %s: got %v, want %q", tt.arch, tt.from, err, tt.want)
		}
	}
}

// manifest returns a manifest with one change.
func manifest(t testing.TB, change func(m map[string]any)) map[string]string {
	t.Helper()

	sum := strings.Repeat("0a", 32)
	m := map[string]any{
		"format": 1, "name": "Talos", "version": "v1.2.3", "arch": "amd64",
		"files": []map[string]any{{"name": release.UKI, "size": 1, "sha256": sum}, {"name": release.Loader, "size": 1, "sha256": sum}},
	}
	change(m)

	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}

	return map[string]string{"manifest.json": string(b)}
}

func TestRefused(t *testing.T) {
	set := func(name string, value any) map[string]string {
		return manifest(t, func(m map[string]any) { m[name] = value })
	}
	files := func(files ...map[string]any) map[string]string { return set("files", files) }
	file := func(name string, more map[string]any) map[string]any {
		f := map[string]any{"name": name, "size": 1, "sha256": strings.Repeat("0a", 32)}
		maps.Copy(f, more)

		return f
	}

	for name, tt := range map[string]struct {
		manifest map[string]string
		is       error
		want     string
	}{
		"another image":      {map[string]string{"bin": "sh"}, release.ErrNotOurs, "its first layer has no manifest.json"},
		"another system":     {set("name", "Other"), release.ErrNotOurs, `its name is "Other"`},
		"not JSON":           {map[string]string{"manifest.json": "{"}, release.ErrNotOurs, "unexpected end of JSON input"},
		"a newer format":     {manifest(t, func(m map[string]any) { m["format"], m["files"] = 2, "in another form" }), release.ErrTooNew, "it has format 2, and v0.1.0 knows formats up to 1: upgrade to an earlier release first"},
		"no format":          {set("format", 0), release.ErrNotOurs, "its name is"},
		"a bad version":      {set("version", "latest"), release.ErrNotOurs, `version "latest" is not valid`},
		"a bad architecture": {set("arch", "../x"), release.ErrNotOurs, `architecture "../x" is not valid`},
		"two lines":          {set("cmdline", "a\nb"), release.ErrNotOurs, "more than one line"},
		"no files":           {files(), release.ErrNotOurs, "file talos.efi is missing"},
		"a path":             {files(map[string]any{"name": "../etc/passwd", "size": 1}), release.ErrNotOurs, `file "../etc/passwd" has a bad name`},
		"no size":            {files(map[string]any{"name": release.UKI, "size": -1}), release.ErrNotOurs, "has -1 bytes"},
		"no such whole": {
			files(file(release.UKI, nil), file(release.Loader, nil), file(release.Kernel, map[string]any{"of": "x"})), release.ErrNotOurs, `file vmlinuz is not in file "x"`,
		},
		"a part of a part": {
			files(file(release.UKI, nil), file(release.Loader, map[string]any{"of": release.UKI}), file(release.Kernel, map[string]any{"of": release.Loader})), release.ErrNotOurs,
			`file vmlinuz is not in file "systemd-bootx64.efi"`,
		},
		"a part of itself": {files(file(release.UKI, map[string]any{"of": release.UKI}), file(release.Loader, nil)), release.ErrNotOurs, `file talos.efi is not in file "talos.efi"`},
		"behind the end": {
			files(file(release.UKI, nil), file(release.Loader, map[string]any{"of": release.UKI, "offset": 1})), release.ErrNotOurs,
			`file systemd-bootx64.efi is not in file "talos.efi"`,
		},
		"before the start": {
			files(file(release.UKI, nil), file(release.Loader, map[string]any{"of": release.UKI, "offset": -1})), release.ErrNotOurs,
			`file systemd-bootx64.efi is not in file "talos.efi"`,
		},
		"no digest": {files(map[string]any{"name": release.UKI, "size": 1, "sha256": "abc"}), release.ErrNotOurs, `digest "abc" is not SHA-256`},
	} {
		_, err := release.Open(release.Layout(pack(t, tt.manifest, contents)))
		if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}

	if _, err := release.Open(release.Layout(pack(t, manifest(t, func(map[string]any) {})))); !errors.Is(err, release.ErrNotOurs) {
		t.Errorf("one layer: got %v", err)
	}

	if _, err := release.Open(release.Layout(t.TempDir())); !errors.Is(err, release.ErrNotOurs) {
		t.Errorf("an empty folder: got %v", err)
	}
}

// TestDamaged removes, shortens and changes each blob: it is an error, of Open or of reading the file.
func TestDamaged(t *testing.T) {
	for name, damage := range map[string]func(path string, b []byte) error{
		"missing": func(path string, _ []byte) error { return os.Remove(path) },
		"shorter": func(path string, b []byte) error { return os.WriteFile(path, b[:len(b)/2], 0o644) },
		"changed": func(path string, b []byte) error {
			b[len(b)/2] ^= 0x40

			return os.WriteFile(path, b, 0o644)
		},
	} {
		layout := written(t)

		blobs, err := filepath.Glob(filepath.Join(layout, "blobs", "sha256", "*"))
		if err != nil || len(blobs) != 4 {
			t.Fatalf("got %v, %v", blobs, err)
		}

		refused := 0

		for _, blob := range blobs {
			whole, err := os.ReadFile(blob)
			if err != nil {
				t.Fatal(err)
			}

			if err := damage(blob, bytes.Clone(whole)); err != nil {
				t.Fatal(err)
			}

			if err := readAll(layout); err != nil {
				refused++

				if !errors.Is(err, release.ErrIncomplete) && !errors.Is(err, errDigest) {
					t.Errorf("%s: got %v, want %v", name, err, release.ErrIncomplete)
				}
			}

			if err := os.WriteFile(blob, whole, 0o644); err != nil {
				t.Fatal(err)
			}
		}

		if refused != 3 { // all but the configuration, which nothing reads
			t.Errorf("%s: %d of 4 damaged blobs were refused, want 3", name, refused)
		}
	}
}

var errDigest = errors.New("another content")

func readAll(layout string) error {
	image, err := release.Open(release.Layout(layout))
	if err != nil {
		return err
	}

	for name, want := range contents {
		source, err := image.Source(name)
		if err != nil {
			return err
		}

		r, err := source.Open()
		if err != nil {
			return err
		}
		defer r.Close()

		if b, err := io.ReadAll(r); err != nil || string(b) != want {
			return errDigest
		}
	}

	return nil
}

func TestTreesRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}

	_, err := release.Trees(t.TempDir(), release.Manifest{Version: "v1", Arch: "amd64"}, map[string]string{release.UKI: path})
	if err == nil || !strings.Contains(err.Error(), "file systemd-bootx64.efi is missing") {
		t.Errorf("got %v", err)
	}
}
