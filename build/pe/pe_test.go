// SPDX-License-Identifier: Apache-2.0

package pe_test

import (
	"bytes"
	debugpe "debug/pe"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/build/pe"
	"github.com/seed-59268b81/talos/build/pe/petest"
)

const amd64 = petest.AMD64

// section returns the content of a section, without its padding.
func section(t *testing.T, program []byte, name string) string {
	t.Helper()

	f, err := debugpe.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}

	data, err := f.Section(name).Data()
	if err != nil {
		t.Fatal(err)
	}

	return string(data[:f.Section(name).VirtualSize])
}

func TestAppend(t *testing.T) {
	kernel := bytes.Repeat([]byte("k"), 10_000)

	out, err := pe.Append(petest.Stub(amd64), []pe.Section{
		{Name: ".cmdline", Data: []byte("console=ttyS0")}, {Name: ".linux", Data: kernel}, {Name: ".initrd", Data: []byte("cpio")},
	})
	if err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]string{".cmdline": "console=ttyS0", ".linux": string(kernel), ".initrd": "cpio"} {
		if got := section(t, out, name); got != want {
			t.Errorf("section %s: got %d bytes, want %d", name, len(got), len(want))
		}
	}

	f, err := debugpe.NewFile(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}

	end := uint32(0)
	for _, s := range f.Sections {
		if s.VirtualAddress%4096 != 0 || s.VirtualAddress < end || s.Offset%512 != 0 {
			t.Errorf("section %s is at %#x in memory, %#x in the file, after %#x", s.Name, s.VirtualAddress, s.Offset, end)
		}

		end = s.VirtualAddress + s.VirtualSize
	}

	if got := f.OptionalHeader.(*debugpe.OptionalHeader64).SizeOfImage; got < end || got%4096 != 0 {
		t.Errorf("size of the image: got %#x, want a page boundary at or after %#x", got, end)
	}

	if bytes.Contains(out, []byte("signature")) {
		t.Error("the data after the last section is still there")
	}
}

func TestRefusals(t *testing.T) {
	many := make([]pe.Section, 20)
	for i := range many {
		many[i] = pe.Section{Name: "." + strings.Repeat("x", i%7) + string(rune('a'+i))}
	}

	for _, tt := range []struct {
		name     string
		stub     []byte
		sections []pe.Section
		want     string
	}{
		{"text", []byte("no program"), nil, "EFI stub"},
		{"no room", petest.Stub(amd64), many, "room for"},
		{"used", petest.Stub(amd64), []pe.Section{{Name: ".text"}}, "already used"},
		{"long", petest.Stub(amd64), []pe.Section{{Name: ".toolongname"}}, "too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := pe.Append(tt.stub, tt.sections); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func FuzzAppend(f *testing.F) {
	f.Add(petest.Stub(amd64))
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := pe.Append(b, []pe.Section{{Name: ".linux", Data: []byte("kernel")}})
		if err != nil {
			return
		}

		if got := section(t, out, ".linux"); got != "kernel" {
			t.Errorf("got %q, want the kernel", got)
		}
	})
}
