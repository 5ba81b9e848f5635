// SPDX-License-Identifier: Apache-2.0

package nft

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/nftables"
)

// types are the kernel's types of the sets' values.
var types = map[Kind]nftables.SetDatatype{
	Addresses4: nftables.TypeIPAddr, Addresses6: nftables.TypeIP6Addr, Ports: nftables.TypeInetService, Links: nftables.TypeIFName, ICMPTypes: nftables.TypeICMPType,
}

// elements returns ranges as the kernel has them: in a set with intervals, the first value and the one behind the last. The last interval
// of all values has no end.
func elements(k Kind, ranges []Range) []nftables.SetElement {
	var out []nftables.SetElement

	for _, r := range ranges {
		out = append(out, nftables.SetElement{Key: []byte(r.First)})

		if !k.intervals() {
			continue
		}

		if end := next(r.Last); end != "" {
			out = append(out, nftables.SetElement{Key: []byte(end), IntervalEnd: true})
		}
	}

	return out
}

// ranges is the inverse of elements, in any order of the elements.
func ranges(k Kind, elements []nftables.SetElement) []Range {
	slices.SortFunc(elements, func(a, b nftables.SetElement) int {
		// At the same value, one interval ends before the next begins.
		return cmp.Or(strings.Compare(string(a.Key), string(b.Key)), compare(b.IntervalEnd, a.IntervalEnd))
	})

	var out []Range

	open := false

	for _, e := range elements {
		switch {
		case !k.intervals():
			out = append(out, One(string(e.Key)))
		case e.IntervalEnd && open:
			out[len(out)-1].Last, open = previous(string(e.Key)), false
		case !e.IntervalEnd:
			out, open = append(out, Range{string(e.Key), strings.Repeat("\xff", len(e.Key))}), true
		}
	}

	return out
}

func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// next returns the value behind another, or "" behind the last.
func next(value string) string {
	b := []byte(value)

	for i := len(b) - 1; i >= 0; i-- {
		if b[i]++; b[i] != 0 {
			return string(b)
		}
	}

	return ""
}

// previous returns the value before another, which is not the first.
func previous(value string) string {
	b := []byte(value)

	for i := len(b) - 1; i >= 0; i-- {
		if b[i]--; b[i] != 0xff {
			break
		}
	}

	return string(b)
}
