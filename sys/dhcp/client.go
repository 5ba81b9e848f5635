// SPDX-License-Identifier: Apache-2.0

package dhcp

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Lease is the lease of either protocol.
type Lease interface {
	comparable
	Lives() Times
	// Attrs returns the attributes for log lines; the first is its address.
	Attrs() []any
}

// Status is the status of a client.
type Status[L Lease] struct {
	// Lease is nil before the first one.
	Lease L
	// Trouble is why there is no lease, or why the lease could not be confirmed; nil for a valid lease.
	Trouble error
}

// Ask asks a server a question about the current lease, if any. It returns an error if no server answers in time.
type Ask[L Lease] func(ctx context.Context, question Question, lease L, timeout time.Duration) (L, error)

// Client keeps a lease.
type Client[L Lease] struct {
	Protocol
	Ask Ask[L]
	// Publish is called with each new status.
	Publish func(Status[L])
	Log     *slog.Logger
	// Check makes the client check its lease at once: the link was down, or what the client sends has changed. It may be nil.
	Check <-chan struct{}
}

// Run keeps a lease until the context ends. The lease stays valid after that, because the address is in use until its owner removes it.
func (c *Client[L]) Run(ctx context.Context) {
	var (
		s       = state{Protocol: c.Protocol}
		none    L
		lease   L
		event   any = due{}
		actions []any
	)

	for ctx.Err() == nil {
		s, actions = s.next(event, time.Now())

		for _, action := range actions {
			switch a := action.(type) {
			case ask:
				next, err := c.Ask(ctx, a.Question, lease, a.timeout)
				if err != nil {
					event = answered{err: err}

					break
				}

				if a.Question != c.Get && next.Attrs()[1] != lease.Attrs()[1] {
					c.Log.Warn("the "+c.Name+" server changed the address", "from", lease.Attrs()[1], "to", next.Attrs()[1])
				}

				lease, event = next, answered{Times: next.Lives()}
			case wait:
				event = c.wait(ctx, a.until)
			case publish:
				c.Publish(Status[L]{lease, a.trouble})
			case report:
				if lease != none {
					a.args = append(lease.Attrs(), a.args...)
				}

				c.Log.Log(ctx, a.level, a.text, a.args...)
			}
		}
	}
}

// wait sleeps until a time; a check or the end of the context ends it.
func (c *Client[L]) wait(ctx context.Context, until time.Time) any {
	var end <-chan time.Time

	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()

		end = timer.C
	}

	select {
	case <-ctx.Done():
	case <-c.Check:
		return checked{}
	case <-end:
	}

	return due{}
}

// jitter randomizes a duration by up to a part of it in both directions.
func jitter(part int64) func(time.Duration) time.Duration {
	return func(d time.Duration) time.Duration {
		return d + time.Duration(rand.Int64N(2*int64(d)/part)-int64(d)/part)
	}
}
