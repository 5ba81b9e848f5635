// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"sync/atomic"
	"time"
)

// clock returns the time of updates. time.Now reads both the wall clock and the monotonic clock, and took a quarter of the
// time of an update. clock reads only the monotonic clock, and adds the difference to a recent time.Now. When the wall clock
// is set, clock notices within clockStep.
type clock struct{ last atomic.Pointer[time.Time] }

const clockStep = 5 * time.Millisecond

// nanos returns the time as Unix nanoseconds.
func (c *clock) nanos() int64 {
	last := c.last.Load()
	if last != nil {
		if gone := time.Since(*last); gone >= 0 && gone < clockStep {
			return last.UnixNano() + int64(gone)
		}
	}

	now := time.Now()
	c.last.Store(&now)

	return now.UnixNano()
}
