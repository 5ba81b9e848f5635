// SPDX-License-Identifier: Apache-2.0

package session

import (
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
)

// Share formats a part of a whole as a percentage.
func Share(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}

	return strconv.FormatFloat(float64(part)/float64(whole)*100, 'f', 2, 64) + "%"
}

// Size formats a number of bytes in full, or for people in the unit that fits.
func Size(bytes int64, human bool) string {
	if !human || bytes < 0 {
		return strconv.FormatInt(bytes, 10)
	}

	return humanize.Bytes(uint64(bytes))
}

// Ago formats how long ago a time was.
func Ago(t, now time.Time) string {
	return now.Sub(t).Round(time.Second).String() + " ago"
}
