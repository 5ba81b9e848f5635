// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"strconv"

	"github.com/dustin/go-humanize"
)

// gigabytes writes bytes in GB, with two places.
func gigabytes(bytes uint64) string {
	return strconv.FormatFloat(float64(bytes)/1e9, 'f', 2, 64)
}

// megabytes writes bytes in MB, with two places.
func megabytes(bytes uint64) string {
	return strconv.FormatFloat(float64(bytes)/1e6, 'f', 2, 64)
}

// share writes a part of a whole as a percentage.
func share(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}

	return strconv.FormatFloat(float64(part)/float64(whole)*100, 'f', 2, 64) + "%"
}

// size writes bytes in full, or in the unit that fits them.
func size(bytes int64, human bool) string {
	if !human || bytes < 0 {
		return strconv.FormatInt(bytes, 10)
	}

	return humanize.Bytes(uint64(bytes))
}
