// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEntry(t *testing.T) {
	more := []string{"talos.platform=hcloud", "debug"}

	for _, tt := range []struct {
		name  string
		entry Entry
		have  string
		want  string // the arguments, or none for no entry
	}{
		{"emulated", Entry{Emulated: true}, "slab_nomerge pti=on console=ttyS0\n", "slab_nomerge pti=off console=ttyS0 cryptomgr.notests no_timer_check"},
		{"emulated without isolation", Entry{Emulated: true}, "slab_nomerge pti=auto", ""},
		{"nothing", Entry{}, "slab_nomerge pti=on", ""},
		{"arguments", Entry{Args: more}, "pti=on talos.platform=metal", "pti=on talos.platform=metal talos.platform=hcloud debug"},
		{"both", Entry{Emulated: true, Args: more}, "pti=on", "pti=off cryptomgr.notests no_timer_check talos.platform=hcloud debug"},
	} {
		want := "title Talos (lab)\nefi /EFI/Linux/Talos-v1.efi\noptions " + tt.want + "\n"
		if got, ok := tt.entry.text("Talos-v1.efi", tt.have); ok != (tt.want != "") || ok && got != want {
			t.Errorf("%s: got %q, %t, want %q", tt.name, got, ok, want)
		}
	}
}

func TestGRUBEntry(t *testing.T) {
	const have = "# version v1\n# arguments pti=on quiet\nlinux /A/vmlinuz 'pti=on' 'quiet' 'talos.boot.entry=A'\ninitrd /A/initramfs.img\n"

	for _, tt := range []struct {
		name  string
		entry Entry
		want  string // the arguments, or none for no change
	}{
		{"emulated", Entry{Emulated: true}, "'pti=off' 'quiet' 'talos.boot.entry=A' 'cryptomgr.notests' 'no_timer_check'"},
		{"arguments", Entry{Args: []string{"debug", "it's"}}, `'pti=on' 'quiet' 'talos.boot.entry=A' 'debug' 'it'\''s'`},
		{"nothing", Entry{}, ""},
	} {
		want := "# version v1\n# arguments pti=on quiet\nlinux /A/vmlinuz " + tt.want + "\ninitrd /A/initramfs.img\n"
		if got, ok := tt.entry.grubText(have); ok != (tt.want != "") || ok && got != want {
			t.Errorf("%s: got %q, %t, want %q", tt.name, got, ok, want)
		}
	}
}

func TestForeignImageIsLeftAlone(t *testing.T) {
	image := filepath.Join(t.TempDir(), "disk.raw")
	content := bytes.Repeat([]byte("another system"), 10_000)

	if err := os.WriteFile(image, content, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := AddEntry(t.Context(), image, Entry{Emulated: true}); err != nil {
		t.Fatal(err)
	}

	if err := AddEntry(t.Context(), image, Entry{Args: []string{"debug"}}); err == nil || !strings.Contains(err.Error(), "no unified kernel image") {
		t.Errorf("add arguments: got %v, want an error", err)
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
