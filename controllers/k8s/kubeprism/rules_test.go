// SPDX-License-Identifier: Apache-2.0

package kubeprism

import (
	"net/http"
	"testing"
	"time"
)

// TestStartsToForbid checks that a server is not ready while it begins to refuse probes by its rules, and is when it goes on to do so.
func TestStartsToForbid(t *testing.T) {
	var p Prober

	for i, step := range []struct {
		at     time.Duration
		status int
		want   bool
	}{
		{0, http.StatusForbidden, true},
		{rulesPatience - 1, http.StatusForbidden, true},
		{rulesPatience, http.StatusForbidden, false},
		{rulesPatience + 1, http.StatusOK, false},
		{rulesPatience + 2, http.StatusForbidden, true}, // it has started again
		{rulesPatience + 3, http.StatusUnauthorized, false},
	} {
		if got := p.startsToForbid("one", step.status, time.Unix(1000, 0).Add(step.at)); got != step.want {
			t.Errorf("step %d: got %t, want %t", i, got, step.want)
		}
	}

	if !p.startsToForbid("other", http.StatusForbidden, time.Unix(5000, 0)) {
		t.Error("another server: got false")
	}
}
