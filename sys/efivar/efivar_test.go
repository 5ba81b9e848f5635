// SPDX-License-Identifier: Apache-2.0

package efivar_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-59268b81/talos/sys/efivar"
)

var name = efivar.Name{Name: "LoaderEntryDefault", Vendor: uuid.MustParse("4a67b082-0a4c-41cf-b6c7-440b29bb8c4f")}

func TestVariables(t *testing.T) {
	d := efivar.Dir(t.TempDir())

	if _, err := d.Get(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}

	for _, value := range []string{"a long value", "short", ""} {
		if err := d.Set(name, []byte(value)); err != nil {
			t.Fatal(err)
		}

		if b, err := d.Get(name); err != nil || string(b) != value {
			t.Errorf("got %q, %v; want %q", b, err, value)
		}
	}

	file := filepath.Join(string(d), "LoaderEntryDefault-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f")
	if b, err := os.ReadFile(file); err != nil || string(b) != "\x07\x00\x00\x00" {
		t.Errorf("got %q, %v; want the attributes", b, err)
	}

	// An equal value is not written.
	if err := os.Chmod(file, 0o400); err != nil {
		t.Fatal(err)
	}

	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}

	if err := d.Set(name, nil); err != nil {
		t.Error(err)
	}

	if after, err := os.Stat(file); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("an equal value was written: %v", err)
	}

	for range 2 {
		if err := d.Delete(name); err != nil {
			t.Error(err)
		}
	}

	if err := os.WriteFile(file, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}

	if _, err := d.Get(name); err == nil {
		t.Error("a file without attributes is a variable")
	}

	if err := efivar.Dir("/nothing").Set(name, nil); err == nil || err.Error() != "write EFI variable LoaderEntryDefault: no such file or directory" {
		t.Errorf("got %v", err)
	}
}

func FuzzDecodeText(f *testing.F) {
	f.Add(efivar.EncodeText("Talos-v1.efi"))
	f.Add([]byte{1})
	f.Add([]byte{0x00, 0xd8})

	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := efivar.DecodeText(b)
		if err != nil {
			return
		}

		if again, err := efivar.DecodeText(efivar.EncodeText(s)); err != nil || again != s {
			t.Errorf("got %q, %v; want %q", again, err, s)
		}
	})
}
