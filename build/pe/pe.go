// SPDX-License-Identifier: Apache-2.0

// Package pe adds sections to an EFI program, to build a unified kernel image from a stub, a kernel and an
// initramfs. It replaces ukify and objcopy. The stub's sections keep their places; the new ones follow in the
// file and in memory, and the image size in the header grows. The headers must have room for the new entries;
// systemd's stub has room for seven.
package pe

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"errors"
	"fmt"
)

// Section is a named blob. The name has at most 8 bytes.
type Section struct {
	Name string
	Data []byte
}

// Offsets within the headers: PE/COFF specification, sections 3 and 4.
const (
	lfanewOffset   = 0x3c
	coffSize       = 24 // signature and COFF header
	sectionsOffset = 6
	symbolsOffset  = 12 // pointer and number
	optSizeOffset  = 20
	optSizeOfImage = 56
	entrySize      = 40
	// readOnlyData is IMAGE_SCN_CNT_INITIALIZED_DATA | IMAGE_SCN_MEM_READ.
	readOnlyData = 0x40000040
	// maxImage is the maximum size of an image for firmware.
	maxImage = 1 << 31
	// pageSize is the alignment in memory. A kernel must start on a page boundary.
	pageSize = 4096
)

// Append returns the program with the sections added.
func Append(stub []byte, sections []Section) ([]byte, error) {
	f, err := pe.NewFile(bytes.NewReader(stub))
	if err != nil {
		return nil, fmt.Errorf("EFI stub: %w", err)
	}

	opt, ok := f.OptionalHeader.(*pe.OptionalHeader64)
	if !ok {
		return nil, errors.New("EFI stub: not a 64-bit program")
	}

	var (
		le       = binary.LittleEndian
		out      = bytes.Clone(stub)
		coff     = int(le.Uint32(stub[lfanewOffset:]))
		optional = coff + coffSize
		table    = optional + int(le.Uint16(stub[coff+optSizeOffset:]))
		count    = len(f.Sections)
	)

	// Data after the last section of the file (a signature, symbols) is dropped.
	clear(out[coff+symbolsOffset:][:8])

	fileEnd, memoryEnd := sectionEnds(f)
	out = out[:max(min(fileEnd, len(out)), 0)]

	if a := opt.FileAlignment; a < 512 || a > 64<<10 || a&(a-1) != 0 {
		return nil, fmt.Errorf("EFI stub: file alignment %d is not a power of two from 512 to 65536", a)
	}

	if len(out) < fileEnd || len(out) < int(opt.SizeOfHeaders) || memoryEnd > maxImage {
		return nil, errors.New("EFI stub: the file is shorter than its headers say")
	}

	if room := (int(opt.SizeOfHeaders) - table) / entrySize; count+len(sections) > room {
		return nil, fmt.Errorf("EFI stub: headers have room for %d sections, want %d", room, count+len(sections))
	}

	for _, s := range sections {
		if len(s.Name) > 8 || f.Section(s.Name) != nil {
			return nil, fmt.Errorf("EFI stub: section name %q is too long or already used", s.Name)
		}

		out = pad(out, int(opt.FileAlignment))
		offset := len(out)
		out = pad(append(out, s.Data...), int(opt.FileAlignment))

		entry := out[table+count*entrySize:][:entrySize]
		clear(entry)
		copy(entry, s.Name)
		le.PutUint32(entry[8:], uint32(len(s.Data)))
		le.PutUint32(entry[12:], uint32(memoryEnd))
		le.PutUint32(entry[16:], uint32(len(out)-offset))
		le.PutUint32(entry[20:], uint32(offset))
		le.PutUint32(entry[36:], readOnlyData)

		memoryEnd = align(memoryEnd+len(s.Data), pageSize)
		count++

		if memoryEnd > maxImage {
			return nil, errors.New("unified kernel image: larger than 2 GiB, the maximum of firmware")
		}
	}

	le.PutUint16(out[coff+sectionsOffset:], uint16(count))
	le.PutUint32(out[optional+optSizeOfImage:], uint32(memoryEnd))

	return out, nil
}

// sectionEnds returns the end of the last section in the file, and the next page boundary in memory.
func sectionEnds(f *pe.File) (file, memory int) {
	for _, s := range f.Sections {
		file = max(file, int(s.Offset)+int(s.Size))
		memory = max(memory, align(int(s.VirtualAddress)+int(s.VirtualSize), pageSize))
	}

	return file, memory
}

func align(n, to int) int { return (n + to - 1) / to * to }

func pad(b []byte, to int) []byte { return append(b, make([]byte, align(len(b), to)-len(b))...) }
