// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/sys/efivar"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/test/powercut"
)

// program returns a program with the section .cmdline.
func program(cmdline string) []byte {
	b := make([]byte, 1024)
	le := binary.LittleEndian

	copy(b, "MZ")
	le.PutUint32(b[0x3c:], 0x80)
	copy(b[0x80:], "PE\x00\x00")
	le.PutUint16(b[0x84:], 0x8664)
	le.PutUint16(b[0x86:], 1)   // sections
	le.PutUint16(b[0x94:], 240) // optional header
	le.PutUint16(b[0x98:], 0x20b)
	le.PutUint32(b[0x98+108:], 16)

	section := b[0x98+240:]
	copy(section, ".cmdline")
	le.PutUint32(section[8:], uint32(len(cmdline)))
	le.PutUint32(section[12:], 0x1000)
	le.PutUint32(section[16:], 512)
	le.PutUint32(section[20:], 1024)

	return append(b, append([]byte(cmdline), make([]byte, 512-len(cmdline))...)...)
}

// machine is a machine whose only image was started by the file of an entry, with other arguments.
func machine(t *testing.T, conf string) SystemdBoot {
	t.Helper()

	disk := powercut.New(40 << 20)

	f, err := fat.Format(disk, fat.Options{Size: 40 << 20, SectorSize: 512, Label: "EFI"})
	if err != nil {
		t.Fatal(err)
	}

	files := EFIFiles(install.Bytes([]byte("loader")), install.Bytes(program("quiet pti=on console=tty0")), NewID("v1"))
	files = append(files, install.File{Path: "/loader/entries/lab.conf", Source: install.Bytes([]byte(conf))})

	for _, file := range files {
		if err := install.Put(t.Context(), f, file); err != nil {
			t.Fatal(err)
		}
	}

	if f, err = fat.Open(disk, 40<<20, time.Time{}); err != nil {
		t.Fatal(err)
	}

	l := SystemdBoot{ESP: f, Vars: efivar.Dir(t.TempDir())}
	if err := l.Vars.Set(varSelected, efivar.EncodeText("lab.conf")); err != nil {
		t.Fatal(err)
	}

	return l
}

// TestArguments upgrades a machine that was started with other arguments than its image has: the new entry has them too.
func TestArguments(t *testing.T) {
	l := machine(t, "title lab\nefi /EFI/Linux/Talos-v1.efi\noptions quiet pti=off console=tty0\noptions talos.x=1\n")
	entries := func(want ...Entry) {
		t.Helper()

		got, err := l.Entries()
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Fatalf("%v, entries (-want +got):\n%s", err, d)
		}
	}

	entries(Entry{"lab.conf", "v1"})

	id, err := l.Add(t.Context(), System{Version: "v2", UKI: install.Bytes(program("quiet pti=on console=tty0 new")), Cmdline: "quiet pti=on console=tty0 new"})
	if err != nil || id != "Talos-v2.conf" {
		t.Fatalf("got %q, %v", id, err)
	}

	entries(Entry{"Talos-v2.conf", "v2"}, Entry{"lab.conf", "v1"})

	if byDefault, err := l.Default(); err != nil || byDefault != "lab.conf" {
		t.Errorf("default: got %q, %v", byDefault, err)
	}

	b, err := l.ESP.ReadFile("/loader/entries/Talos-v2.conf", 1024)
	if want := "title Talos v2\nefi /EFI/Linux/Talos-v2.efi\noptions quiet pti=on console=tty0 new pti=off talos.x=1\n"; err != nil || string(b) != want {
		t.Errorf("got %q, %v; want %q", b, err, want)
	}

	// The new one runs and becomes the default, and the old one goes, with its image.
	for _, err := range []error{l.SetOnce(id), l.SetDefault(id), l.Vars.Set(varSelected, efivar.EncodeText(strings.ToLower(id)))} {
		if err != nil {
			t.Fatal(err)
		}
	}

	if removed, err := Collect(l); err != nil || len(removed) != 1 || removed[0] != "lab.conf" {
		t.Errorf("got %v, %v", removed, err)
	}

	entries(Entry{"Talos-v2.conf", "v2"})

	if ukis, err := l.ukis(); err != nil || len(ukis) != 1 {
		t.Errorf("got %v, %v", ukis, err)
	}

	// The arguments stay through one more upgrade.
	if id, err = l.Add(t.Context(), System{Version: "v3", UKI: install.Bytes([]byte("x")), Cmdline: "quiet"}); err != nil {
		t.Fatal(err)
	}

	if b, err := l.ESP.ReadFile("/loader/entries/"+id, 1024); err != nil || !strings.Contains(string(b), "options quiet pti=off talos.x=1\n") {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestParseConf(t *testing.T) {
	for _, tt := range []struct {
		text, uki, options string
	}{
		{"", "", ""},
		{"efi \\EFI\\Linux\\Talos-v1.efi\noptions a  b\n", "Talos-v1.efi", "a b"},
		{"efi /EFI/other.efi\noptions a", "", "a"},
		{"# efi /EFI/Linux/x.efi\ntitle efi\nefi\n", "", ""},
	} {
		c := parseConf(tt.text)
		if got := strings.Join(c.options, " "); c.uki != tt.uki || got != tt.options {
			t.Errorf("%q: got %q, %q", tt.text, c.uki, got)
		}
	}

	if _, err := (conf{id: "x", options: []string{"a\nb"}}).text("v1"); err == nil {
		t.Error("arguments with two lines were written")
	}
}

// FuzzCmdlineOf reads the command line of any bytes.
func FuzzCmdlineOf(f *testing.F) {
	f.Add(program("quiet"))
	f.Add([]byte("MZ"))

	f.Fuzz(func(t *testing.T, b []byte) {
		line, err := cmdlineOf(b)
		if err == nil && len(line) > len(b) {
			t.Errorf("got %d bytes of %d", len(line), len(b))
		}

		parseConf(string(b))
	})
}
