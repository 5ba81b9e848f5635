// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func archive(t testing.TB, entries ...tar.Header) *bytes.Buffer {
	t.Helper()

	var b bytes.Buffer

	zip := gzip.NewWriter(&b)
	files := tar.NewWriter(zip)

	for _, header := range entries {
		content := header.Uname // carried there by the test
		header.Uname = ""

		if header.Typeflag == tar.TypeReg {
			header.Size = int64(len(content))
		}

		if err := files.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}

		if _, err := files.Write([]byte(content)[:header.Size]); err != nil {
			t.Fatal(err)
		}
	}

	if err := files.Close(); err != nil {
		t.Fatal(err)
	}

	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}

	return &b
}

func file(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o400, Uname: content}
}

func link(typ byte, name, target string) tar.Header {
	return tar.Header{Typeflag: typ, Name: name, Linkname: target}
}

func tree(t *testing.T, directory string) map[string]string {
	t.Helper()

	got := map[string]string{}

	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		name, _ := filepath.Rel(directory, path)

		switch {
		case entry.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			got[name] = "-> " + target

			return err
		case entry.Type().IsRegular():
			content, err := os.ReadFile(path)
			got[name] = string(content)

			return err
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return got
}

func TestInto(t *testing.T) {
	for _, tt := range []struct {
		name    string
		entries []tar.Header
		want    map[string]string
		err     string
	}{
		{
			name: "tree",
			entries: []tar.Header{
				{Typeflag: tar.TypeDir, Name: "./", Mode: 0o555},
				{Typeflag: tar.TypeDir, Name: "sub", Mode: 0o500}, file("sub/a", "1"), file("/rooted/b", "2"),
				link(tar.TypeSymlink, "l", "sub/a"), link(tar.TypeLink, "h", "sub/a"),
				{Typeflag: tar.TypeChar, Name: "null", Devmajor: 1, Devminor: 3}, file("sub/a", "again"),
			},
			want: map[string]string{"sub/a": "again", "rooted/b": "2", "l": "-> sub/a", "h": "1"},
		},
		{name: "up", entries: []tar.Header{file("../a", "1")}, err: "../a: the name leads out"},
		{name: "up inside", entries: []tar.Header{file("a/../../a", "1")}, err: "leads out"},
		{name: "hard link up", entries: []tar.Header{link(tar.TypeLink, "h", "../secret")}, err: "leads out"},
		{name: "through a link", entries: []tar.Header{link(tar.TypeSymlink, "l", ".."), file("l/a", "1")}, err: "escapes"},
		{name: "over a link", entries: []tar.Header{link(tar.TypeSymlink, "a", "../secret"), file("a", "1")}, want: map[string]string{"a": "1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			outside := t.TempDir()
			directory := filepath.Join(outside, "to", "here")

			if err := os.WriteFile(filepath.Join(outside, "to", "..", "secret"), []byte("kept"), 0o600); err != nil {
				t.Fatal(err)
			}

			err := Into(directory, archive(t, tt.entries...))
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("got %v, want %q", err, tt.err)
			}

			if tt.err == "" {
				if diff := cmp.Diff(tt.want, tree(t, directory)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}

			if got := tree(t, outside); got["secret"] != "kept" || got["a"] != "" || got["to/a"] != "" {
				t.Errorf("something was written outside: got %v", got)
			}
		})
	}
}

func TestIntoBroken(t *testing.T) {
	whole := archive(t, file("a", strings.Repeat("x", 100000))).Bytes()

	for _, content := range [][]byte{nil, []byte("no archive"), whole[:len(whole)/2]} {
		if err := Into(t.TempDir(), bytes.NewReader(content)); err == nil {
			t.Errorf("%d bytes: got no error", len(content))
		}
	}
}

func TestIntoErrorAtTheEnd(t *testing.T) {
	directory := t.TempDir()
	left := errors.New("the archive is whole but for one file")

	err := Into(directory, io.MultiReader(archive(t, file("a", "1")), iotest.ErrReader(left)))
	if !errors.Is(err, left) {
		t.Errorf("got %v, want %v", err, left)
	}

	if got := tree(t, directory)["a"]; got != "1" {
		t.Errorf("got %q in the file, want what was sent", got)
	}
}

func FuzzInto(f *testing.F) {
	f.Add(archive(f, file("a/b", "1"), link(tar.TypeSymlink, "l", "..")).Bytes())
	f.Add([]byte{0x1f, 0x8b})

	f.Fuzz(func(t *testing.T, content []byte) {
		outside := t.TempDir()

		_ = Into(filepath.Join(outside, "here"), bytes.NewReader(content))

		entries, err := os.ReadDir(outside)
		if err != nil || len(entries) > 1 {
			t.Errorf("outside the directory: got %v, %v", entries, err)
		}
	})
}
