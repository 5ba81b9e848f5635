// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"strconv"
	"strings"
)

// parseQuantity reads a whole number of bytes as Kubernetes writes them: 512Mi, 1G, 1073741824.
func parseQuantity(text string) (int64, error) {
	digits := strings.TrimRight(text, "KMGTPkin")
	unit := text[len(digits):]

	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("quantity %q: %w", text, err)
	}

	base, power := int64(1000), strings.TrimSuffix(unit, "i")
	if power != unit {
		base = 1024
	}

	exponent := strings.Index("KMGTP", strings.ToUpper(power))
	if power == "" {
		exponent = -1
	} else if exponent < 0 || len(power) != 1 {
		return 0, fmt.Errorf("quantity %q: unit %q is none of K, M, G, T, P, with or without i", text, unit)
	}

	for range exponent + 1 {
		if n > (1<<62)/base {
			return 0, fmt.Errorf("quantity %q: too large", text)
		}

		n *= base
	}

	return n, nil
}
