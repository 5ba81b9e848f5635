// SPDX-License-Identifier: Apache-2.0

// Package petest has a small EFI program for tests of what is made of such programs.
package petest

import "encoding/binary"

// AMD64 is the number of the architecture in a program.
const AMD64 = 0x8664

// Stub returns the smallest 64-bit program: headers of 1024 bytes, one section of 512 bytes, and a trailer
// after the section.
func Stub(machine uint16) []byte {
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
