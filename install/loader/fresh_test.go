// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/install"
)

// TestFresh checks the files of new systems. What the firmware starts is the last one. An entry with arguments is the default, so that a machine
// whose firmware has lost its variables starts with them.
func TestFresh(t *testing.T) {
	program, s := install.Bytes([]byte("loader")), System{Version: "v1+2", UKI: install.Bytes([]byte("uki")), Cmdline: "quiet  pti=on"}

	whole := func(args ...string) ([]install.File, string, error) {
		f, err := New(program, s, args)

		return f.Files, f.ID, err
	}
	other := func(cmdline string) ([]install.File, string, error) {
		files, err := EFIFilesWith(program, s.UKI, "Talos-v1-2.efi", cmdline)

		return files, "Talos-v1-2.conf", err
	}

	plain := [][2]string{
		{"/EFI/systemd/systemd-bootx64.efi", "loader"}, {"/loader/loader.conf", "timeout 0\neditor no\n"}, {"/EFI/Linux/Talos-v1-2.efi", "uki"},
		{"/EFI/BOOT/BOOTX64.EFI", "loader"},
	}
	with := func(version string) [][2]string {
		return [][2]string{
			{"/EFI/systemd/systemd-bootx64.efi", "loader"}, {"/loader/loader.conf", "timeout 0\neditor no\ndefault Talos-v1-2.conf\n"},
			{"/EFI/Linux/Talos-v1-2.efi", "uki"},
			{"/loader/entries/Talos-v1-2.conf", "title Talos " + version + "\nefi /EFI/Linux/Talos-v1-2.efi\noptions quiet a=b\n"},
			{"/EFI/BOOT/BOOTX64.EFI", "loader"},
		}
	}

	for name, tt := range map[string]struct {
		files func() ([]install.File, string, error)
		id    string
		want  [][2]string
	}{
		"its own arguments":    {func() ([]install.File, string, error) { return whole("quiet", "pti=on") }, "Talos-v1-2.efi", plain},
		"other arguments":      {func() ([]install.File, string, error) { return whole("quiet", "a=b") }, "Talos-v1-2.conf", with("v1+2")},
		"another command line": {func() ([]install.File, string, error) { return other("quiet a=b") }, "Talos-v1-2.conf", with("v1-2")},
	} {
		files, id, err := tt.files()
		if err != nil || id != tt.id {
			t.Errorf("%s: got %s, %v", name, id, err)
		}

		var got [][2]string

		for _, f := range files {
			text, err := textOf(f)
			if err != nil {
				t.Fatal(err)
			}

			got = append(got, [2]string{f.Path, text})
		}

		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}

	if _, _, err := whole("a\nb"); err == nil {
		t.Error("an argument with two lines was accepted")
	}
}
