// SPDX-License-Identifier: Apache-2.0

package router

import (
	"slices"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// fragment splits an IPv4 packet into frames that fit an MTU (RFC 791, section 3.2).
func (c *Core) fragment(b []byte, mtu int) [][]byte {
	h := header.IPv4(b)
	size := int(h.HeaderLength())
	step := (mtu - size) &^ 7

	// Some options are only for the first fragment. The others have no-ops in their place, so that all headers have the
	// same length.
	rest := slices.Clone(b[:size])
	blankOptions(rest[header.IPv4MinimumSize:])

	var frames [][]byte

	for start := size; start < len(b); start += step {
		end := min(start+step, len(b))
		frame := c.frame(size + end - start)
		part := header.IPv4(frame[etherLen:])

		if start == size {
			copy(part, b[:size])
		} else {
			copy(part, rest)
		}

		copy(part[size:], b[start:end])

		flags := h.Flags()
		if end < len(b) {
			flags |= header.IPv4FlagMoreFragments
		}

		part.SetFlagsFragmentOffset(flags, h.FragmentOffset()+uint16(start-size))
		part.SetTotalLength(uint16(len(part)))
		sumHeader(part)

		frames = append(frames, frame)
	}

	return frames
}

// blankOptions overwrites the options that are not copied into all fragments.
func blankOptions(options []byte) {
	const (
		end, nop = 0, 1
		copied   = 0x80
	)

	for i := 0; i < len(options) && options[i] != end; {
		size := 1
		if options[i] != nop && i+1 < len(options) {
			size = max(int(options[i+1]), 2)
		}

		next := min(i+size, len(options))
		if options[i]&copied == 0 {
			for j := i; j < next; j++ {
				options[j] = nop
			}
		}

		i = next
	}
}

func sumHeader(h header.IPv4) {
	h.SetChecksum(0)
	h.SetChecksum(^h.CalculateChecksum())
}
