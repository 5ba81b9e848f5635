// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"slices"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestFlags checks that a package gets what is left of the time of the whole run.
func TestFlags(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		timeout, within, since time.Duration
		race                   bool
		want                   []string
	}{
		{"no limit of the run", time.Hour, 0, 2 * time.Hour, true, []string{"-timeout=1h0m0s", "-race"}},
		{"enough left", time.Hour, 90 * time.Minute, 20 * time.Minute, false, []string{"-timeout=1h0m0s"}},
		{"less left", time.Hour, 90 * time.Minute, 40 * time.Minute, false, []string{"-timeout=50m0s"}},
		{"nothing left", time.Hour, 90 * time.Minute, 91 * time.Minute, false, []string{"-timeout=1s"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &runner{tally: newTally(io.Discard), timeout: tt.timeout, within: tt.within, race: tt.race}
			r.since = func() time.Duration { return tt.since }

			if got := r.flags(); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
