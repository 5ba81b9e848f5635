// SPDX-License-Identifier: Apache-2.0

package fat

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// Entries of folders.
const (
	slot    = 32
	deleted = 0xe5

	attrLabel  = 0x08
	attrFolder = 0x10
	attrFile   = 0x20
	attrLong   = 0x0f

	// perSlot is how many UTF-16 units of a long name are in one slot, and lastSlot marks the last one, which comes first.
	perSlot  = 13
	lastSlot = 0x40
)

// shortName has eight characters and three after the dot, padded with spaces.
type shortName [11]byte

func (s shortName) sum() (sum byte) {
	for _, c := range s {
		sum = sum>>1 | sum<<7
		sum += c
	}

	return sum
}

// text returns the name as users write it. The case is in two bits of the entry.
func (s shortName) text(lower byte) string {
	base, ext := strings.TrimRight(string(s[:8]), " "), strings.TrimRight(string(s[8:]), " ")

	if lower&0x08 != 0 {
		base = strings.ToLower(base)
	}

	if lower&0x10 != 0 {
		ext = strings.ToLower(ext)
	}

	if ext != "" {
		base += "." + ext
	}

	return strings.ToValidUTF8(base, "_")
}

const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'()-@^_`{}~"

// clean returns a text in the characters of short names.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '.':
			return -1
		case strings.ContainsRune(allowed, r):
			return r
		default:
			return '_'
		}
	}, strings.ToUpper(s))
}

func pad(base, ext string) (s shortName) {
	copy(s[:], fmt.Sprintf("%-8s%-3s", base, ext))

	return s
}

func cut(s string, n int) string { return s[:min(len(s), n)] }

// shorten returns a short name that is not taken. exact is set when it is the whole name, which then needs no long one.
func shorten(name string, taken map[shortName]bool) (s shortName, exact bool, err error) {
	stem, ext := name, ""
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		stem, ext = name[:dot], name[dot+1:]
	}

	base, suffix := clean(stem), clean(ext)

	s = pad(cut(base, 8), cut(suffix, 3))
	if s.text(0) == name && !taken[s] {
		return s, true, nil
	}

	for n := 1; n < 1_000_000; n++ {
		tail := fmt.Sprint("~", n)

		s = pad(cut(base, 8-len(tail))+tail, cut(suffix, 3))
		if !taken[s] {
			return s, false, nil
		}
	}

	return s, false, fmt.Errorf("name %q: there are too many similar ones", name)
}

// checkName returns an error for a name that a file cannot have. slots is the number of slots in a sector.
func checkName(name string, slots int) error {
	units := utf16.Encode([]rune(name))

	switch {
	case name == "" || name == "." || name == ".." || strings.ContainsAny(name, "\"*/:<>?\\|\x7f"):
		return fmt.Errorf("name %q is not allowed", name)
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }):
		return fmt.Errorf("name %q is not allowed", name)
	case len(units) > (slots-1)*perSlot || len(units) > 255:
		return fmt.Errorf("name %q is longer than %d characters", name, min((slots-1)*perSlot, 255))
	}

	return nil
}

// offsets are those of the 13 units of a long name in a slot.
var offsets = [perSlot]int{1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30}

// longSlots returns the slots of a long name, in the order on disk.
func longSlots(name string, s shortName) []byte {
	units := utf16.Encode([]rune(name))
	n := (len(units) + perSlot - 1) / perSlot
	out := make([]byte, n*slot)

	for i := range n {
		b := out[(n-1-i)*slot:][:slot]
		b[0], b[11], b[13] = byte(i+1), attrLong, s.sum()

		if i == n-1 {
			b[0] |= lastSlot
		}

		for k, offset := range offsets {
			switch at := i*perSlot + k; {
			case at < len(units):
				le.PutUint16(b[offset:], units[at])
			case at > len(units):
				le.PutUint16(b[offset:], 0xffff)
			}
		}
	}

	return out
}

// longName collects the slots of a long name.
type longName struct {
	units []uint16
	// next is the number of the slot that must follow, and sum the checksum of the short name.
	next, sum byte
}

// add adds a slot, and reports whether it continues the name or begins one.
func (l *longName) add(b []byte) bool {
	number := b[0] &^ lastSlot

	if b[0]&lastSlot != 0 {
		if number == 0 || number > 20 {
			return false
		}

		*l = longName{next: number, sum: b[13]}
	}

	if number == 0 || number != l.next || b[13] != l.sum {
		return false
	}

	l.next--

	part := make([]uint16, 0, perSlot)

	for _, offset := range offsets {
		u := le.Uint16(b[offset:])
		if u == 0 {
			break
		}

		part = append(part, u)
	}

	l.units = append(part, l.units...)

	return true
}

// of returns the long name of a short one, or an empty string if it has none.
func (l *longName) of(s shortName) string {
	if len(l.units) == 0 || l.next != 0 || l.sum != s.sum() {
		return ""
	}

	return string(utf16.Decode(l.units))
}
