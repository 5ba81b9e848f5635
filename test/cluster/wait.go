// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	tryTime  = 20 * time.Second
	tryEvery = 500 * time.Millisecond
)

// Until tries until it succeeds, and tells how long that took. At the end of the time the test fails with the last
// cause and with what is known of the node.
func (c *Cluster) Until(goal string, timeout time.Duration, try func(ctx context.Context) error) time.Duration {
	c.t.Helper()

	start := time.Now()

	ctx, cancel := context.WithTimeout(c.t.Context(), timeout)
	defer cancel()

	var (
		last, said string
		saidAt     = start
	)

	for {
		one, done := context.WithTimeout(ctx, tryTime)
		err := try(one)

		done()

		if err == nil {
			return time.Since(start)
		}

		// A try that was cut short by the end of the time has no cause of its own.
		if ctx.Err() == nil || last == "" {
			last = strings.TrimSpace(err.Error())
		}

		if last != said && time.Since(saidAt) > 10*time.Second {
			c.t.Logf("waiting until %s (%.0fs): %s", goal, time.Since(start).Seconds(), last)

			said, saidAt = last, time.Now()
		}

		select {
		case <-ctx.Done():
			c.Fail("waited %s until %s; the last cause: %s", timeout, goal, last)
		case <-time.After(tryEvery):
		}
	}
}

// Fail ends the test with what is known of the node.
func (c *Cluster) Fail(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("%s\n\n%s", fmt.Sprintf(format, args...), c.diagnosis())
}
