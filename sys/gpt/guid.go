// SPDX-License-Identifier: Apache-2.0

package gpt

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// GUID in the order of its text form. On disk its first three groups are little endian.
type GUID [16]byte

// Partition types.
var (
	TypeESP       = MustGUID("C12A7328-F81F-11D2-BA4B-00A0C93EC93B")
	TypeLinuxData = MustGUID("0FC63DAF-8483-4772-8E79-3D69D8477DE4")
	TypeLinuxSwap = MustGUID("0657FD6D-A4AB-43C4-84E5-0933C84B4F4F")
)

// ParseGUID reads the text form, in either case.
func ParseGUID(s string) (GUID, error) {
	var g GUID

	raw, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(raw) != 16 || len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return g, fmt.Errorf("GUID %q: want the form 01234567-89AB-CDEF-0123-456789ABCDEF", s)
	}

	copy(g[:], raw)

	return g, nil
}

// MustGUID is ParseGUID for constants.
func MustGUID(s string) GUID {
	g, err := ParseGUID(s)
	if err != nil {
		panic(err)
	}

	return g
}

// NewGUID returns a random one (version 4).
func NewGUID() GUID {
	var g GUID

	rand.Read(g[:])

	g[6] = g[6]&0x0f | 0x40
	g[8] = g[8]&0x3f | 0x80

	return g
}

// IsZero tells the GUID of an unused entry.
func (g GUID) IsZero() bool { return g == GUID{} }

// String is the lower-case text form.
func (g GUID) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", g[0:4], g[4:6], g[6:8], g[8:10], g[10:16])
}

func (g GUID) put(b []byte) {
	copy(b, g[:])
	binary.LittleEndian.PutUint32(b[0:], binary.BigEndian.Uint32(g[0:]))
	binary.LittleEndian.PutUint16(b[4:], binary.BigEndian.Uint16(g[4:]))
	binary.LittleEndian.PutUint16(b[6:], binary.BigEndian.Uint16(g[6:]))
}

func getGUID(b []byte) GUID {
	var g GUID

	copy(g[:], b[:16])
	binary.BigEndian.PutUint32(g[0:], binary.LittleEndian.Uint32(b[0:]))
	binary.BigEndian.PutUint16(g[4:], binary.LittleEndian.Uint16(b[4:]))
	binary.BigEndian.PutUint16(g[6:], binary.LittleEndian.Uint16(b[6:]))

	return g
}
