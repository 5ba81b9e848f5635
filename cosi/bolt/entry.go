// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"encoding/binary"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/state"
)

// entry is one change in the log.
type entry struct {
	memory.Change

	kind []byte // kindKey
}

func entries(changes []memory.Change) []entry {
	out := make([]entry, len(changes))
	for i, c := range changes {
		// The stored form is all that is needed: the log must not keep old versions in memory.
		c.Now, c.Old = nil, nil
		out[i] = entry{Change: c, kind: kindKey(c.Kind)}
	}

	return out
}

// encodeEntries is each change, with its length before it.
func encodeEntries(all []entry) []byte {
	size := 0
	for _, e := range all {
		size += binary.MaxVarintLen32 + e.size()
	}

	b := make([]byte, 0, size)

	for _, e := range all {
		b = e.append(binary.AppendUvarint(b, uint64(e.size())))
	}

	return b
}

func decodeEntries(b []byte) (all []entry, err error) {
	for len(b) > 0 {
		one, rest, ok := cutBytes(b)
		if !ok {
			return nil, errTruncated
		}

		e, err := decodeEntry(one)
		if err != nil {
			return nil, err
		}

		all, b = append(all, e), rest
	}

	return all, nil
}

// size returns the number of bytes that append adds.
func (e entry) size() int {
	n := 1 + 2*seqSize + sizeOf(len(e.kind)) + sizeOf(len(e.ID))
	if e.Type == state.Destroyed {
		return n
	}

	return n + len(e.NowWire)
}

func sizeOf(n int) int { return len(binary.AppendUvarint(nil, uint64(n))) + n }

// append appends type, number, number of the replaced version, length of the kind, the kind, length of the id, the id, and the new version unless
// the resource was destroyed.
func (e entry) append(b []byte) []byte {
	b = append(b, byte(e.Type))
	b = binary.BigEndian.AppendUint64(b, e.Seq)
	b = binary.BigEndian.AppendUint64(b, e.OldSeq)
	b = append(binary.AppendUvarint(b, uint64(len(e.kind))), e.kind...)
	b = append(binary.AppendUvarint(b, uint64(len(e.ID))), e.ID...)

	if e.Type == state.Destroyed {
		return b
	}

	return append(b, e.NowWire...)
}

func decodeEntry(b []byte) (e entry, err error) {
	if len(b) < 1+2*seqSize {
		return e, errTruncated
	}

	e.Type, e.Seq, e.OldSeq = state.EventType(b[0]), binary.BigEndian.Uint64(b[1:]), binary.BigEndian.Uint64(b[1+seqSize:])

	if e.Type > state.Destroyed {
		return e, fmt.Errorf("it is of the unknown type %d", e.Type)
	}

	kind, b, ok := cutBytes(b[1+2*seqSize:])
	if !ok {
		return e, errTruncated
	}

	id, b, ok := cutBytes(b)
	if !ok || (len(b) == 0) != (e.Type == state.Destroyed) {
		return e, errTruncated
	}

	if e.Kind, err = kindOfKey(kind); err != nil {
		return e, err
	}

	e.ID, e.kind, e.NowWire = string(id), kind, b

	return e, nil
}

// cutBytes returns the bytes behind their length, and what follows.
func cutBytes(b []byte) (found, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, false
	}

	return b[size : size+int(n)], b[size+int(n):], true
}
