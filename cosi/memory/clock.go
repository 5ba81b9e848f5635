// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"sync/atomic"
	"time"
)

// clock tells the time of updates. To ask for the wall clock was a quarter of an update, and Go asks for the monotonic one
// each time as well: this one asks for the latter alone, and counts from what both were a moment ago. When the wall clock
// is set, it notices that within clockStep.
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
