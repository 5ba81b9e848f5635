// SPDX-License-Identifier: Apache-2.0

package nethelpers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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
