// SPDX-License-Identifier: Apache-2.0

package network

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A refused step is tried less and less often, however often the controller is woken.
func TestTriesGrowSeldom(t *testing.T) {
	steps, start, now := tries{}, time.Unix(0, 0), time.Unix(0, 0)

	var at []time.Duration

	for ; now.Sub(start) < 5*time.Minute; now = now.Add(100 * time.Millisecond) {
		if _, err := steps.allow("step", 1, now); err == nil {
			steps.note("step", 1, now, unix.EPERM)

			at = append(at, now.Sub(start))
		}

		steps.forget(map[string]bool{"step": true}, now)
	}

	want := []time.Duration{0, 1, 3, 7, 15, 31, 63, 123, 183, 243}
	if len(at) != len(want) {
		t.Fatalf("tried at %v, want at seconds %d", at, want)
	}

	for i, seconds := range want {
		if at[i] != seconds*time.Second {
			t.Errorf("try %d: got %s, want %ds", i, at[i], seconds)
		}
	}
}
