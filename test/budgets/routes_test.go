// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"os"
	"testing"
)

// TestRoutes runs a test of the network on this computer's kernel: a node with 10,000 routes, of which 100 change in a second. The test has the
// limits of the time until the status of a route and of the processor time.
func TestRoutes(t *testing.T) {
	if os.Getenv(Measure) == "" {
		t.Skip("measures times, which needs the whole computer: run make budgets")
	}

	text, err := goTest(t, "-count=1", "-v", "-run", "^TestManyRoutes$", "./controllers/network")

	figures := logged(text, "best of")
	if err != nil || len(figures) == 0 {
		t.Errorf("TestManyRoutes did not pass: %v\n%s", err, text)
	}

	for _, f := range figures {
		report("10,000 routes, 100 events a second: %s", f)
	}
}
