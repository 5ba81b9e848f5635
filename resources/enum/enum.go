// SPDX-License-Identifier: Apache-2.0

// Package enum converts the numbers of an enumeration to names. The numbers are those of the wire or the kernel; users see the names. A
// number without a name is printed in decimal and can be parsed again, so that a client shows what a newer node sends.
//
// An enumeration is a type, a table, and three methods of one line each:
//
//	var colours = enum.Of[Colour]("red", "green")
//
//	func (c Colour) String() string                   { return colours.Text(c) }
//	func (c Colour) MarshalText() ([]byte, error)     { return colours.Marshal(c) }
//	func (c *Colour) UnmarshalText(text []byte) error { return colours.Parse("colour", text, c) }
package enum

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Integer is the underlying type of an enumeration.
type Integer interface {
	~uint8 | ~uint16 | ~uint32 | ~int32
}

// Names maps the numbers of one enumeration to their text forms.
type Names[T Integer] map[T]string

// Of names the numbers from 0.
func Of[T Integer](names ...string) Names[T] {
	n := Names[T]{}
	for i, name := range names {
		n[T(i)] = name
	}

	return n
}

// Text returns the name of a number.
func (n Names[T]) Text(v T) string {
	if s, ok := n[v]; ok {
		return s
	}

	return strconv.FormatInt(int64(v), 10)
}

// Marshal is Text for encoding.TextMarshaler.
func (n Names[T]) Marshal(v T) ([]byte, error) { return []byte(n.Text(v)), nil }

// Parse reads a name in upper or lower case, or a number. Errors name the enumeration what.
func (n Names[T]) Parse(what string, text []byte, v *T) error {
	s := string(text)

	for k, name := range n {
		if strings.EqualFold(name, s) {
			*v = k

			return nil
		}
	}

	number, err := strconv.ParseInt(s, 10, 64)
	if err != nil || int64(T(number)) != number {
		return fmt.Errorf("unknown %s %q: want one of %s", what, s, n.list())
	}

	*v = T(number)

	return nil
}

func (n Names[T]) list() string { return strings.Join(slices.Sorted(maps.Values(n)), ", ") }
