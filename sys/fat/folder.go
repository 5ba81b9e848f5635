// SPDX-License-Identifier: Apache-2.0

package fat

import (
	"bytes"
	"fmt"
	"strings"
)

// maxFolder limits the bytes of a folder, as the format does.
const maxFolder = 65536 * slot

// Entry is a file or a folder.
type Entry struct {
	Name   string
	Folder bool
	Size   int64

	first uint32
	short shortName
	// at is the offset of its first slot in the folder, and end that after its last one.
	at, end int
}

// folder is the content of a folder.
type folder struct {
	chain []uint32
	// was is on the disk, and now what is to be.
	was, now []byte
	entries  []Entry
}

// folder reads a folder.
func (f *FS) folder(first uint32) (*folder, error) {
	chain, err := f.chain(first, maxFolder/f.cluster)
	if err != nil {
		return nil, err
	}

	d := &folder{chain: chain, was: make([]byte, int64(len(chain))*f.cluster)}

	for i, c := range chain {
		if _, err := f.device.ReadAt(d.was[int64(i)*f.cluster:][:f.cluster], f.at(c)); err != nil {
			return nil, fmt.Errorf("read folder: %w", err)
		}
	}

	d.now = bytes.Clone(d.was)
	d.list()

	return d, nil
}

// list reads the entries. What comes after the end is not valid, whatever it is, and is zero from then on.
func (d *folder) list() {
	var long longName

	d.entries = nil
	start := 0

	for at := 0; at < len(d.now); at += slot {
		b := d.now[at:][:slot]

		switch {
		case b[0] == 0:
			clear(d.now[at:])

			return
		case b[0] == deleted, b[11]&attrLong != attrLong && b[11]&attrLabel != 0:
			long = longName{}
		case b[11]&0x3f == attrLong:
			if b[0]&lastSlot != 0 {
				start = at
			}

			if !long.add(b) {
				long = longName{}
			}
		default:
			d.entries = append(d.entries, entryOf(b, long, start, at))
			long = longName{}
		}
	}
}

func entryOf(b []byte, long longName, start, at int) Entry {
	e := Entry{
		Folder: b[11]&attrFolder != 0,
		Size:   int64(le.Uint32(b[28:])),
		first:  uint32(le.Uint16(b[20:]))<<16 | uint32(le.Uint16(b[26:])),
		at:     start, end: at + slot,
	}

	copy(e.short[:], b)

	if e.short[0] == 0x05 { // stands for the byte of a deleted entry
		e.short[0] = deleted
	}

	if e.Name = long.of(e.short); e.Name == "" {
		e.Name, e.at = e.short.text(b[12]), at
	}

	return e
}

func (d *folder) find(name string) (Entry, bool) {
	for _, e := range d.entries {
		if strings.EqualFold(e.Name, name) || strings.EqualFold(e.short.text(0), name) {
			return e, true
		}
	}

	return Entry{}, false
}

// insert adds slots, all in one sector, and reports whether there is room.
func (d *folder) insert(slots []byte, sector int) bool {
	for start := 0; start < len(d.now); start += sector {
		for at := start; at+len(slots) <= start+sector; at += slot {
			if !d.free(at, len(slots)) {
				continue
			}

			// An empty slot is the end of the folder. So those before are marked as deleted.
			for before := 0; before < at; before += slot {
				if d.now[before] == 0 {
					d.now[before] = deleted
				}
			}

			copy(d.now[at:], slots)

			return true
		}
	}

	return false
}

func (d *folder) free(at, length int) bool {
	for i := at; i < at+length; i += slot {
		if d.now[i] != 0 && d.now[i] != deleted {
			return false
		}
	}

	return true
}

// slotsOf returns the slots of a new entry.
func (f *FS) slotsOf(d *folder, name string, attr byte, first uint32, size int64) ([]byte, error) {
	taken := map[shortName]bool{}
	for _, e := range d.entries {
		taken[e.short] = true
	}

	short, exact, err := shorten(name, taken)
	if err != nil {
		return nil, err
	}

	var out []byte
	if !exact {
		out = longSlots(name, short)
	}

	b := make([]byte, slot)
	copy(b, short[:])
	b[11] = attr
	putTime(b, f.time)
	point(b, first, size)

	return append(out, b...), nil
}

// point sets what an entry leads to.
func point(b []byte, first uint32, size int64) {
	le.PutUint16(b[20:], uint16(first>>16))
	le.PutUint16(b[26:], uint16(first))
	le.PutUint32(b[28:], uint32(size))
}
