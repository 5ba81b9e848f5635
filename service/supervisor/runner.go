// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"
)

// Runner runs a service once. It returns when the service has ended by itself or, after ctx is done, when it was stopped (gracefully
// first, then by force). It must not return before everything that it started has ended.
type Runner interface {
	Run(ctx context.Context, run Run) error
}

// Run is what a runner gets for one run.
type Run struct {
	// ID of the service.
	ID string
	// Log takes the output of the service, by lines.
	Log io.Writer
	// Started is called once when the service runs, with its process id (0 for a function). Then health checks begin.
	Started func(pid int)
	// Preparing reports a step before the start: pulling an image, waiting for a file.
	Preparing func(message string)
}

// Func is a runner in process.
type Func func(ctx context.Context, run Run) error

// Run implements Runner.
func (f Func) Run(ctx context.Context, run Run) error {
	run.Started(0)

	return f(ctx, run)
}

// Health is how the health of a running service is checked.
type Health struct {
	Check func(ctx context.Context) error
	// Live, if not nil, is asked before Check whether the service works at all. If it fails, Check is not asked. Only its failures count as
	// Failures then: Check may fail for other reasons than that the service hangs, as when its peers are down.
	Live func(ctx context.Context) error
	// InitialDelay before the first check (1 s when zero), Period between checks (5 s), Timeout of one (500 ms).
	InitialDelay, Period, Timeout time.Duration
	// Failures in a row after which a service that was healthy (live, if there is Live) is killed and started again; 0 means never. A
	// service whose process has used the processor since then, so that it is slow rather than hung, has four times as many. Set it
	// only for checks that fail when the service itself hangs: a restart does not help a service whose peers are down.
	Failures int
}

// ErrHung is the cause of the end of a run whose health check has failed too often. Such a service is killed without a signal to
// stop.
var ErrHung = errors.New("the service hangs")

func (h Health) withDefaults() Health {
	h.InitialDelay = cmp.Or(h.InitialDelay, time.Second)
	h.Period = cmp.Or(h.Period, 5*time.Second)
	h.Timeout = cmp.Or(h.Timeout, 500*time.Millisecond)

	return h
}
