// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestClock: the clock always agrees with the wall clock, also after the wall clock was set.
func TestClock(t *testing.T) {
	var c clock

	for range 1000 {
		// The wall clock may be slewed while the monotonic one is not.
		const slack = time.Millisecond

		before := time.Now().Add(-slack).UnixNano()
		got := c.nanos()
		after := time.Now().Add(slack).UnixNano()

		if got < before || got > after {
			t.Fatalf("got %d, want it between %d and %d", got, before, after)
		}
	}

	// In the bubble it is another year.
	synctest.Test(t, func(t *testing.T) {
		for _, wait := range []time.Duration{0, time.Nanosecond, clockStep - 1, 1, clockStep, time.Hour} {
			time.Sleep(wait)

			if got, want := c.nanos(), time.Now().UnixNano(); got != want {
				t.Errorf("after %v: got %d, want %d", wait, got, want)
			}
		}
	})

	if got, want := time.Unix(0, c.nanos()), time.Now(); want.Sub(got).Abs() > time.Minute {
		t.Errorf("got %v, want %v", got, want)
	}
}

func BenchmarkClock(b *testing.B) {
	var c clock

	for b.Loop() {
		c.nanos()
	}
}
