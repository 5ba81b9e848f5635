// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"time"
)

const (
	tryTime  = 20 * time.Second
	tryEvery = 500 * time.Millisecond
	// usualReady is the time from the configuration of an emulated machine until its node is Ready for which the timeouts were chosen.
	usualReady = 150 * time.Second
	// mostPatience bounds how much longer they can be.
	mostPatience = 4
)

// Patience returns a timeout for this machine: an emulated one on a slow computer has as much more time as it needed until it was Ready.
func (c *Cluster) Patience(timeout time.Duration) time.Duration {
	return time.Duration(float64(timeout) * min(max(1, c.slowness), mostPatience))
}

// Until tries until it succeeds, and returns how long that took. At its timeout the test fails with the last cause and
// with the diagnosis of the node.
func (c *Cluster) Until(goal string, timeout time.Duration, try func(ctx context.Context) error) time.Duration {
	c.t.Helper()

	return c.within(timeout, func(ctx context.Context) error { return c.cluster.Wait.Until(ctx, goal, try) })
}

// within calls a function that must succeed within a time, and returns how long it took.
func (c *Cluster) within(timeout time.Duration, do func(ctx context.Context) error) time.Duration {
	c.t.Helper()

	start, timeout := time.Now(), c.Patience(timeout)

	ctx, cancel := context.WithTimeoutCause(c.t.Context(), timeout, fmt.Errorf("timed out after %v", timeout))
	defer cancel()

	if err := do(ctx); err != nil {
		c.Fail("%v", err)
	}

	return time.Since(start)
}

// Fail ends the test with the diagnosis of the node.
func (c *Cluster) Fail(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("%s\n\n%s", fmt.Sprintf(format, args...), c.diagnosis())
}
