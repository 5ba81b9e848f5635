// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
)

// The SYSLINUX auxiliary data vector has two copies of 512 bytes. With the checksum, the 32-bit words between the magics sum to
// legacySum.
const (
	legacyCopy  = 512
	legacySize  = 2 * legacyCopy
	legacyData  = legacyCopy - 12
	legacyHead  = 0x5a2d2fa5
	legacySum   = 0xa3041767
	legacyTail  = 0xdd28bf64
	legacyLimit = 255
)

// decodeLegacy reads the first valid of the two copies.
func decodeLegacy(b []byte) (map[Tag][]byte, bool) {
	for ; len(b) >= legacyCopy; b = b[legacyCopy:] {
		if values, ok := decodeLegacyCopy(b[:legacyCopy]); ok {
			return values, true
		}
	}

	return nil, false
}

func decodeLegacyCopy(b []byte) (map[Tag][]byte, bool) {
	le := binary.LittleEndian
	if le.Uint32(b) != legacyHead || le.Uint32(b[legacyCopy-4:]) != legacyTail || sumWords(b[4:legacyCopy-4]) != legacySum {
		return nil, false
	}

	values := map[Tag][]byte{}

	data := b[8 : 8+legacyData]
	for len(data) >= 2 && data[0] != 0 {
		n := int(data[1])
		if n > len(data)-2 {
			return nil, false
		}

		values[Tag(data[0])] = bytes.Clone(data[2:][:n])
		data = data[2+n:]
	}

	return values, true
}

// encodeLegacy writes the values that fit, smaller tags first, twice.
func encodeLegacy(values map[Tag][]byte) []byte {
	b := make([]byte, 8, legacySize)

	for _, tag := range slices.Sorted(maps.Keys(values)) {
		v := values[tag]
		if len(v) <= legacyLimit && tag != 0 && len(b)+2+len(v) <= 8+legacyData {
			b = append(append(b, byte(tag), byte(len(v))), v...)
		}
	}

	b = b[:legacyCopy]
	le := binary.LittleEndian

	le.PutUint32(b[legacyCopy-4:], legacyTail)
	le.PutUint32(b[4:], legacySum-sumWords(b[4:legacyCopy-4]))
	le.PutUint32(b, legacyHead)

	return append(b, b...)
}

func sumWords(b []byte) (sum uint32) {
	for ; len(b) >= 4; b = b[4:] {
		sum += binary.LittleEndian.Uint32(b)
	}

	return sum
}
