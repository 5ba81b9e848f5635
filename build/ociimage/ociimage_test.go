// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

func makeTree(t *testing.T, program string) Tree {
	t.Helper()

	dir := t.TempDir()
	if err := errors.Join(
		os.MkdirAll(filepath.Join(dir, "usr/bin"), 0o755),
		os.Mkdir(filepath.Join(dir, "tmp"), 0o777),
		os.Chmod(filepath.Join(dir, "tmp"), 0o777|os.ModeSticky),
		os.WriteFile(filepath.Join(dir, "usr/bin/program"), []byte(program), 0o755),
		os.Symlink("program", filepath.Join(dir, "usr/bin/alias")),
	); err != nil {
		t.Fatal(err)
	}

	return Tree(dir)
}

func write(t *testing.T, ref string, layers ...Tree) string {
	t.Helper()

	dir := t.TempDir()
	if err := Write(dir, Image{
		Reference: ref, Layers: layers,
		Config: v1.Config{Entrypoint: []string{"/usr/bin/program"}, User: "65532"},
	}); err != nil {
		t.Fatal(err)
	}

	return dir
}

func TestWriteIsValid(t *testing.T) {
	const ref = "registry.example/program:v1.2.3"

	dir := write(t, ref, makeTree(t, "one"), makeTree(t, "two"))

	path, err := layout.FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}

	images, err := ReadIndex(dir)
	if err != nil || len(images) != 1 || images[0].Annotations[RefName] != ref {
		t.Fatalf("index: got %v, %v; want one image called %s", images, err, ref)
	}

	img, err := path.Image(images[0].Digest)
	if err != nil {
		t.Fatal(err)
	}

	verify(t, img)

	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}

	if config.OS != "linux" || config.Architecture != "amd64" || config.Config.User != "65532" || config.Config.Entrypoint[0] != "/usr/bin/program" {
		t.Errorf("configuration: got %+v, want linux/amd64, user 65532, /usr/bin/program", config)
	}

	layers, err := img.Layers()
	if err != nil || len(layers) != 2 {
		t.Fatalf("layers: got %d, %v; want 2", len(layers), err)
	}

	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()

	want := []string{
		"tmp/ 1777 dir", "usr/ 755 dir", "usr/bin/ 755 dir",
		"usr/bin/alias 777 -> program", "usr/bin/program 755 one",
	}
	if diff := cmp.Diff(want, describe(t, content)); diff != "" {
		t.Errorf("lowest layer (-want +got):\n%s", diff)
	}
}

// verify checks every digest and size of an image against the bytes. (The library's validator supports only gzip.)
func verify(t *testing.T, img v1.Image) {
	t.Helper()

	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}

	for _, l := range layers {
		want, _ := l.Digest()
		diff, _ := l.DiffID()
		size, _ := l.Size()

		if r, err := l.Compressed(); err != nil {
			t.Error(err)
		} else if got, n, err := v1.SHA256(r); err != nil || got != want || n != size {
			t.Errorf("layer's blob: got %s of %d bytes, %v; want %s of %d bytes", got, n, err, want, size)
		}

		if r, err := l.Uncompressed(); err != nil {
			t.Error(err)
		} else if got, _, err := v1.SHA256(r); err != nil || got != diff {
			t.Errorf("layer's content: got %s, %v; want the diff ID %s", got, err, diff)
		}
	}

	config, err := img.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}

	want, _ := img.ConfigName()
	if got, _, err := v1.SHA256(bytes.NewReader(config)); err != nil || got != want {
		t.Errorf("configuration: got %s, %v; want %s", got, err, want)
	}
}

func describe(t *testing.T, r io.Reader) []string {
	t.Helper()

	var got []string

	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return got
		} else if err != nil {
			t.Fatal(err)
		}

		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s: got owner %d:%d, time %v; want 0:0 and the epoch", h.Name, h.Uid, h.Gid, h.ModTime)
		}

		what := "dir"

		switch h.Typeflag {
		case tar.TypeSymlink:
			what = "-> " + h.Linkname
		case tar.TypeReg:
			raw, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}

			what = string(raw)
		}

		got = append(got, fmt.Sprintf("%s %o %s", h.Name, h.Mode, what))
	}
}

func TestSameFilesSameBytes(t *testing.T) {
	first, second := makeTree(t, "same"), makeTree(t, "same")

	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(string(second), "usr/bin/program"), later, later); err != nil {
		t.Fatal(err)
	}

	a, err := ReadIndex(write(t, "r.example/p:v1", first))
	if err != nil {
		t.Fatal(err)
	}

	b, err := ReadIndex(write(t, "r.example/p:v1", second))
	if err != nil {
		t.Fatal(err)
	}

	if a[0].Digest != b[0].Digest {
		t.Errorf("two builds of the same files: got %s and %s, want one digest", a[0].Digest, b[0].Digest)
	}

	c, err := ReadIndex(write(t, "r.example/p:v1", makeTree(t, "other")))
	if err != nil {
		t.Fatal(err)
	}

	if a[0].Digest == c[0].Digest {
		t.Errorf("a build of other files: got the same digest %s", c[0].Digest)
	}
}

func TestMerge(t *testing.T) {
	shared := makeTree(t, "shared")
	a := write(t, "r.example/b:v1", shared, makeTree(t, "b"))
	b := write(t, "r.example/a:v1", shared, makeTree(t, "a"))

	dir := t.TempDir()
	if err := Merge(dir, a, b); err != nil {
		t.Fatal(err)
	}

	images, err := ReadIndex(dir)
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, i := range images {
		names = append(names, i.Annotations[RefName])
	}

	if diff := cmp.Diff([]string{"r.example/a:v1", "r.example/b:v1"}, names); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}

	path, err := layout.FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}

	for _, i := range images {
		img, err := path.Image(i.Digest)
		if err != nil {
			t.Fatal(err)
		}

		verify(t, img)
	}

	// Two manifests, two configurations, three layers.
	if blobs, _ := filepath.Glob(filepath.Join(dir, "blobs/sha256/*")); len(blobs) != 7 {
		t.Errorf("blobs: got %d, want 7, the shared layer once", len(blobs))
	}

	if err := Merge(t.TempDir(), a, a); err == nil || !strings.Contains(err.Error(), "r.example/b:v1") {
		t.Errorf("merge of duplicate references: got %v, want an error with the reference", err)
	}
}

func TestSetIDsAreKept(t *testing.T) {
	for name, test := range map[string]struct {
		mode os.FileMode
		want int64
	}{
		"plain":        {0o755, 0o755},
		"set-user-ID":  {0o755 | os.ModeSetuid, 0o4755},
		"set-group-ID": {0o711 | os.ModeSetgid, 0o2711},
		"both":         {0o755 | os.ModeSetuid | os.ModeSetgid, 0o6755},
	} {
		t.Run(name, func(t *testing.T) {
			tree := makeTree(t, "one")
			if err := os.Chmod(filepath.Join(string(tree), "usr/bin/program"), test.mode); err != nil {
				t.Fatal(err)
			}

			var packed bytes.Buffer
			if err := tree.tarTo(&packed); err != nil {
				t.Fatal(err)
			}

			for archive := tar.NewReader(&packed); ; {
				header, err := archive.Next()
				if err != nil {
					t.Fatalf("the program is not in the archive: %v", err)
				}

				if header.Name == "usr/bin/program" {
					if header.Mode != test.want {
						t.Errorf("got mode %o, want %o", header.Mode, test.want)
					}

					return
				}
			}
		})
	}
}
