// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"
	"time"
)

// TestTook: how long the machine's start took counts what holds, not a condition that may never hold.
func TestTook(t *testing.T) {
	for _, tt := range []struct {
		met  []string
		want time.Duration
	}{
		{nil, 0},
		{[]string{"apid", "nodeReady"}, 200 * time.Second},
		{[]string{"apid"}, 8 * time.Second},
		{[]string{"apid", endpointCondition, apiServerCondition}, 8 * time.Second}, // an earlier change was on trial after hours
		{[]string{"apid", "time"}, maxTook},                                        // it waited for a person to correct the time server
	} {
		trials := newTrials()
		trials.first = map[string]time.Duration{
			"apid": 8*time.Second + time.Millisecond, "nodeReady": 200 * time.Second, "time": time.Hour, endpointCondition: 3 * time.Hour, apiServerCondition: 3 * time.Hour,
		}
		trials.met = tt.met

		if got := trials.took(); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.met, got, tt.want)
		}
	}
}
