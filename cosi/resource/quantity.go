// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"strconv"
	"strings"
)

// parseQuantity parses an integer with an optional unit. Only the first letters of the unit count, so GB, GiB and Gi are all
// accepted: ki, mi, gi, ti, pi are powers of 1024, and k, m, g, t, p powers of 1000.
func parseQuantity(s string) (int64, bool) {
	s = strings.TrimSpace(s)

	end := strings.IndexFunc(s, func(r rune) bool { return r != '-' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(s)
	}

	n, err := strconv.ParseInt(s[:end], 10, 64)
	if err != nil {
		return 0, false
	}

	scale, ok := unitScale(strings.ToLower(strings.TrimSpace(s[end:])))

	return n * scale, ok
}

func unitScale(unit string) (int64, bool) {
	if unit == "" {
		return 1, true
	}

	power := strings.IndexByte("kmgtp", unit[0]) + 1
	if power == 0 {
		return 0, false
	}

	base := int64(1000)
	if len(unit) > 1 && unit[1] == 'i' {
		base = 1024
	}

	scale := int64(1)
	for range power {
		scale *= base
	}

	return scale, true
}
