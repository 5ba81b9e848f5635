// SPDX-License-Identifier: Apache-2.0

package pe_test

import (
	"bytes"
	debugpe "debug/pe"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/build/pe"
)

// stub returns the smallest 64-bit program: headers of 1024 bytes, one section of 512 bytes, and a trailer
// after the section.
func stub(machine uint16) []byte {
	b := make([]byte, 1024+512, 2048)
	le := binary.LittleEndian

	copy(b, "MZ")
	le.PutUint32(b[0x3c:], 0x80)
	copy(b[0x80:], "PE\x00\x00")
	le.PutUint16(b[0x84:], machine)
	le.PutUint16(b[0x86:], 1)        // sections
	le.PutUint32(b[0x8c:], 1024+512) // an empty symbol table, with its string table
	le.PutUint16(b[0x94:], 240)      // optional header

	opt := b[0x98:]
	le.PutUint16(opt, 0x20b)
	le.PutUint32(opt[32:], 4096)
	le.PutUint32(opt[36:], 512)
	le.PutUint32(opt[56:], 0x2000)
	le.PutUint32(opt[60:], 1024)
	le.PutUint32(opt[108:], 16)

	section := b[0x98+240:]
	copy(section, ".text")
	le.PutUint32(section[8:], 100)
	le.PutUint32(section[12:], 0x1000)
	le.PutUint32(section[16:], 512)
	le.PutUint32(section[20:], 1024)

	return append(b, "\x04\x00\x00\x00signature"...)
}

const amd64 = 0x8664

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

	out, err := pe.Append(stub(amd64), []pe.Section{
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
		{"no room", stub(amd64), many, "room for"},
		{"used", stub(amd64), []pe.Section{{Name: ".text"}}, "already used"},
		{"long", stub(amd64), []pe.Section{{Name: ".toolongname"}}, "too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := pe.Append(tt.stub, tt.sections); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func FuzzAppend(f *testing.F) {
	f.Add(stub(amd64))
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
