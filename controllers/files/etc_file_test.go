// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/resources/files"
)

// fakeEtc is a folder with the files of the image. Files are mounted by name.
type fakeEtc struct {
	image   map[string]bool
	mounted map[string]string
	done    []string
}

func (f *fakeEtc) Bind(source, name string) error {
	if !f.image[name] {
		return fs.ErrNotExist
	}

	f.mounted[name] = source
	f.done = append(f.done, "bind "+name)

	return nil
}

func (f *fakeEtc) Unbind(name string) error {
	delete(f.mounted, name)
	f.done = append(f.done, "unbind "+name)

	return nil
}

func (f *fakeEtc) Create(name string) (bool, error) {
	if f.image[name] {
		return false, nil
	}

	f.image[name] = true
	f.done = append(f.done, "create "+name)

	return true, nil
}

func (f *fakeEtc) Remove(name string) error {
	if f.mounted[name] != "" {
		return errors.New("it is mounted")
	}

	delete(f.image, name)
	f.done = append(f.done, "remove "+name)

	return nil
}

func newFakeEtc(names ...string) *fakeEtc {
	f := &fakeEtc{image: map[string]bool{}, mounted: map[string]string{}}
	for _, name := range names {
		f.image[name] = true
	}

	return f
}

func TestWrite(t *testing.T) {
	dir, etc := t.TempDir(), newFakeEtc("hosts")
	c := &etcFiles{etc: etc, shadow: dir, bound: map[string]bool{}, created: map[string]bool{}}

	var inode os.FileInfo

	for i, content := range []string{"127.0.0.1 localhost\n", "short\n"} {
		if err := c.write("hosts", &files.EtcFileSpecSpec{Contents: content, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}

		got, err := os.ReadFile(filepath.Join(dir, "hosts"))
		if err != nil || string(got) != content {
			t.Errorf("got %q (%v), want %q", got, err, content)
		}

		st, err := os.Stat(filepath.Join(dir, "hosts"))
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("mode: got %v (%v)", st.Mode(), err)
		}

		if i > 0 && !os.SameFile(inode, st) {
			t.Error("the file was replaced, what is bound is the old one")
		}

		inode = st
	}

	if got := strings.Join(etc.done, ", "); got != "bind hosts" || etc.mounted["hosts"] != filepath.Join(dir, "hosts") {
		t.Errorf("got %q, mounts %q", got, etc.mounted)
	}

	if err := c.write("../shadow", &files.EtcFileSpecSpec{}); err == nil {
		t.Error("a path outside /etc: got no error")
	}
}

// A file that the image does not have is created, and removed with all that was made for it.
func TestUndo(t *testing.T) {
	dir, etc := t.TempDir(), newFakeEtc("nfsmount.conf")
	c := &etcFiles{etc: etc, shadow: dir, bound: map[string]bool{}, created: map[string]bool{}}

	for _, name := range []string{"nfsmount.conf", "multipath/new.conf"} {
		for range 2 {
			if err := c.write(name, &files.EtcFileSpecSpec{Contents: "x"}); err != nil {
				t.Fatal(err)
			}

			if err := c.undo(name); err != nil {
				t.Fatal(err)
			}
		}

		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}

	const twice = "bind nfsmount.conf, unbind nfsmount.conf"
	const made = "create multipath/new.conf, bind multipath/new.conf, unbind multipath/new.conf, remove multipath/new.conf"

	if got, want := strings.Join(etc.done, ", "), strings.Join([]string{twice, twice, made, made}, ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
