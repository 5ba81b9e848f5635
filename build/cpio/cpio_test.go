// SPDX-License-Identifier: Apache-2.0

package cpio_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/build/cpio"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
)

func archive(t *testing.T) []byte {
	t.Helper()

	var b bytes.Buffer

	w := cpio.NewWriter(&b, 1700000000)

	for _, err := range []error{
		w.Folder("dev", 0o755),
		w.File("init", 0o755, 5, strings.NewReader("hello")),
		w.File("empty", 0o600, 0, strings.NewReader("")),
		w.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	return b.Bytes()
}

// The standard cpio program unpacks our archives.
func TestUnpacks(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(hosttest.Need(t, "cpio"), "-idm", "--quiet")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(archive(t))

	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	if got, err := os.ReadFile(filepath.Join(dir, "init")); err != nil || string(got) != "hello" {
		t.Errorf("init: got %q, %v, want hello", got, err)
	}

	for name, want := range map[string]os.FileMode{"init": 0o755, "empty": 0o600, "dev": os.ModeDir | 0o755} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}

		if info.Mode() != want || !info.IsDir() && info.ModTime().Unix() != 1700000000 {
			t.Errorf("%s: got %v of %v, want %v of the fixed time", name, info.Mode(), info.ModTime(), want)
		}
	}
}

func TestAlignedAndReproducible(t *testing.T) {
	a, b := archive(t), archive(t)
	if !bytes.Equal(a, b) {
		t.Error("two archives of the same contents differ")
	}

	if len(a)%4 != 0 {
		t.Errorf("length %d is not a multiple of 4", len(a))
	}
}

func TestWrongSize(t *testing.T) {
	w := cpio.NewWriter(&bytes.Buffer{}, 0)

	if err := w.File("short", 0o644, 10, strings.NewReader("five5")); err == nil {
		t.Error("a file shorter than its size: got no error")
	}

	if err := w.File("huge", 0o644, 1<<33, strings.NewReader("")); err == nil {
		t.Error("a file of 8 GiB: got no error")
	}
}
