// SPDX-License-Identifier: Apache-2.0

// Package nethelpers holds the words of network resources: families, scopes, link types, operational states
// and so on. Each is a number, that of the kernel's or of the wire's, with a text form, so that resources
// print as people know them from iproute2. A number without a name prints in decimal and reads back.
//
// The package knows no kernel interface: only numbers and names.
package nethelpers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// integer is what an enumeration is made of.
type integer interface {
	~uint8 | ~uint16 | ~uint32 | ~int32
}

// names maps the numbers of one enumeration to their text forms.
type names[T integer] map[T]string

func (n names[T]) text(v T) string {
	if s, ok := n[v]; ok {
		return s
	}

	return strconv.FormatInt(int64(v), 10)
}

func (n names[T]) parse(what string, text []byte, v *T) error {
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

func (n names[T]) list() string {
	all := make([]string, 0, len(n))
	for _, name := range n {
		all = append(all, name)
	}

	slices.Sort(all)

	return strings.Join(all, ", ")
}

// bits names the bits of a flag word, lowest first.
type bits[T ~uint32] []bit[T]

type bit[T ~uint32] struct {
	flag T
	name string
}

func (b bits[T]) text(v T) string {
	var words []string

	for _, x := range b {
		if v&x.flag != 0 {
			words = append(words, x.name)
			v &^= x.flag
		}
	}

	if v != 0 {
		words = append(words, fmt.Sprintf("0x%x", uint32(v)))
	}

	return strings.Join(words, ",")
}

func (b bits[T]) parse(what string, text []byte, v *T) error {
	*v = 0

	for word := range strings.SplitSeq(string(text), ",") {
		if word == "" {
			continue
		}

		i := slices.IndexFunc(b, func(x bit[T]) bool { return strings.EqualFold(x.name, word) })
		if i >= 0 {
			*v |= b[i].flag

			continue
		}

		number, err := strconv.ParseUint(word, 0, 32)
		if err != nil {
			return fmt.Errorf("unknown %s %q", what, word)
		}

		*v |= T(number)
	}

	return nil
}
