// SPDX-License-Identifier: Apache-2.0

package gpt

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// GUID has its bytes in the order of the text form. On disk its first three groups are little endian.
type GUID = uuid.UUID

// Partition types.
var (
	TypeESP       = uuid.MustParse("C12A7328-F81F-11D2-BA4B-00A0C93EC93B")
	TypeBIOS      = uuid.MustParse("21686148-6449-6E6F-744E-656564454649")
	TypeLinuxData = uuid.MustParse("0FC63DAF-8483-4772-8E79-3D69D8477DE4")
	TypeLinuxSwap = uuid.MustParse("0657FD6D-A4AB-43C4-84E5-0933C84B4F4F")
)

// ParseGUID parses the text form, in upper or lower case.
func ParseGUID(s string) (GUID, error) {
	g, err := uuid.Parse(s)
	if err != nil || len(s) != 36 { // uuid.Parse takes other forms too
		return GUID{}, fmt.Errorf("GUID %q: want the form 01234567-89AB-CDEF-0123-456789ABCDEF", s)
	}

	return g, nil
}

// put writes a GUID as it is on disk.
func put(b []byte, g GUID) {
	g = swap(g)
	copy(b, g[:])
}

func getGUID(b []byte) GUID { return swap(GUID(b[:16])) }

// swap converts between the order of the text form and that on disk.
func swap(g GUID) GUID {
	slices.Reverse(g[0:4])
	slices.Reverse(g[4:6])
	slices.Reverse(g[6:8])

	return g
}
