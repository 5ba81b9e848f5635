// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEmulatedEntry(t *testing.T) {
	got, ok := emulatedEntry("Talos-v1.efi", "slab_nomerge pti=on console=ttyS0\n")
	want := "title Talos (emulated processor)\nefi /EFI/Linux/Talos-v1.efi\noptions slab_nomerge pti=off console=ttyS0 cryptomgr.notests\n"

	if !ok || got != want {
		t.Errorf("got %q, %t, want %q", got, ok, want)
	}

	if _, ok := emulatedEntry("Talos-v1.efi", "slab_nomerge pti=auto"); ok {
		t.Error("arguments without isolation were changed")
	}
}

func TestForeignImageIsLeftAlone(t *testing.T) {
	image := filepath.Join(t.TempDir(), "disk.raw")
	content := bytes.Repeat([]byte("another system"), 10_000)

	if err := os.WriteFile(image, content, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := AddEmulatedEntry(t.Context(), image); err != nil {
		t.Fatal(err)
	}

	if got, _ := os.ReadFile(image); !bytes.Equal(got, content) {
		t.Error("the image was changed")
	}
}

func TestKernelArgsOfNoKernel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.efi")
	if err := os.WriteFile(file, []byte("not a program"), 0o600); err != nil {
		t.Fatal(err)
	}

	if _, err := kernelArgs(file); err == nil || !strings.Contains(err.Error(), "x.efi") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}
