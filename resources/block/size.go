// SPDX-License-Identifier: Apache-2.0

package block

import "fmt"

// PrettySize is a size as tables show it: decimal units, one digit after the point below ten.
func PrettySize(bytes uint64) string {
	if bytes < 1000 {
		return fmt.Sprintf("%d B", bytes)
	}

	v := float64(bytes)
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	n := 0

	for ; v >= 1000 && n < len(units)-1; n++ {
		v /= 1000
	}

	if v < 9.95 {
		return fmt.Sprintf("%.1f %s", v, units[n])
	}

	return fmt.Sprintf("%.0f %s", v, units[n])
}
