// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

const (
	slots      = 2
	slotSize   = 256 << 10
	slotMagic  = "TALOSADV"
	headerSize = 56
	sumOffset  = 24
)

// copyOf is the content of one slot.
type copyOf struct {
	values   map[Tag][]byte
	sequence uint64
}

// decodeSlot reads a slot; it returns nil for a slot that was never written.
func decodeSlot(b []byte) (*copyOf, error) {
	if string(b[:len(slotMagic)]) != slotMagic {
		if bytes.Count(b[:headerSize], []byte{0}) == headerSize {
			return nil, nil // an empty slot
		}

		return nil, errors.New("has an unknown magic")
	}

	length := binary.BigEndian.Uint32(b[16:])
	if length > slotSize-headerSize {
		return nil, fmt.Errorf("has a wrong length of %d bytes", length)
	}

	payload := b[headerSize:][:length]
	if sum := checksum(b, payload); !bytes.Equal(sum, b[sumOffset:headerSize]) {
		return nil, errors.New("has a wrong checksum")
	}

	c := &copyOf{values: map[Tag][]byte{}, sequence: binary.BigEndian.Uint64(b[8:])}

	for len(payload) > 0 {
		if len(payload) < 5 || uint64(binary.BigEndian.Uint32(payload[1:])) > uint64(len(payload)-5) {
			return nil, errors.New("has a value beyond its end")
		}

		n := binary.BigEndian.Uint32(payload[1:])
		c.values[Tag(payload[0])] = bytes.Clone(payload[5:][:n])
		payload = payload[5+n:]
	}

	return c, nil
}

func encodeSlot(c copyOf) ([]byte, error) {
	b := make([]byte, headerSize, slotSize)

	copy(b, slotMagic)
	binary.BigEndian.PutUint64(b[8:], c.sequence)

	for _, tag := range slices.Sorted(maps.Keys(c.values)) {
		v := c.values[tag]
		b = append(binary.BigEndian.AppendUint32(append(b, byte(tag)), uint32(len(v))), v...)
	}

	if len(b) > slotSize {
		return nil, fmt.Errorf("write META: the values have %d bytes: at most %d fit", len(b)-headerSize, slotSize-headerSize)
	}

	binary.BigEndian.PutUint32(b[16:], uint32(len(b)-headerSize))
	copy(b[sumOffset:], checksum(b, b[headerSize:]))

	return b, nil
}

func checksum(header, payload []byte) []byte {
	h := sha256.New()
	h.Write(header[:sumOffset])
	h.Write(payload)

	return h.Sum(nil)
}
