// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"math"
	"testing"
)

// TestTrimRanges: the parts are together the whole of a file system, and few.
func TestTrimRanges(t *testing.T) {
	for size, want := range map[uint64]int{
		0: 1, 1: 1, 1 << 30: 1, 1<<30 + 1: 2, 64 << 30: 64, 64<<30 + 1: 33, 10 << 40: 64, math.MaxUint64: 64,
	} {
		got := trimRanges(size)
		if len(got) != want {
			t.Errorf("%d bytes: got %d parts, want %d", size, len(got), want)
		}

		end := uint64(0)

		for _, part := range got {
			if part.start != end || part.start%leastTrimmed != 0 {
				t.Errorf("%d bytes: a part begins at %d, want %d", size, part.start, end)
			}

			end = part.start + part.length
		}

		if end != math.MaxUint64 {
			t.Errorf("%d bytes: the parts end at %d", size, end)
		}
	}
}
