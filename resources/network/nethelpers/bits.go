// SPDX-License-Identifier: Apache-2.0

package nethelpers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// bits are the names of the bits of a flag word, lowest first. A bit without a name has an empty one.
type bits[T ~uint32] []string

func (b bits[T]) text(v T) string {
	var words []string

	for i, name := range b {
		if flag := T(1) << i; v&flag != 0 && name != "" {
			words = append(words, name)
			v &^= flag
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

		if i := slices.IndexFunc(b, func(name string) bool { return strings.EqualFold(name, word) }); i >= 0 {
			*v |= 1 << i

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
