// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
)

const (
	// reattachInterval is the time between attempts to attach to a running task.
	reattachInterval = time.Second
	// attachTimeout is how long containerd may take for the answer to an attempt.
	attachTimeout = 10 * time.Second
	// reattachTimeout is how long containerd may answer with errors before the task is given up.
	reattachTimeout = time.Minute
)

// reattach waits for the end of a task again after the connection to containerd broke. While containerd is away or does not answer, its
// tasks run on, so that takes any time; a task about which containerd answers with errors is given up after reattachTimeout.
type reattach struct {
	// attach waits for the task. The channel has an error when the connection breaks.
	attach func(ctx context.Context) (<-chan containerd.ExitStatus, error)
	// first and last error in a row of errors without a time in which containerd was away or all was well.
	first, last time.Time
}

// errGone is the cause when the task has ended unseen.
var errGone = errors.New("it ended while containerd was not running")

// after waits for containerd after an error, and returns the new channel.
func (r *reattach) after(ctx context.Context, err error) (<-chan containerd.ExitStatus, error) {
	for {
		now := time.Now()

		if away(err) || now.Sub(r.last) > 2*(reattachInterval+attachTimeout) {
			r.first = now
		}

		r.last = now

		if now.Sub(r.first) >= reattachTimeout {
			return nil, fmt.Errorf("wait for its end: containerd has answered with errors for %s, the last one with: %w", reattachTimeout, err)
		}

		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(reattachInterval):
		}

		var exited <-chan containerd.ExitStatus

		if exited, err = r.attach(ctx); err == nil {
			return exited, nil
		}

		if errdefs.IsNotFound(err) {
			return nil, errGone
		}
	}
}

// away reports whether an error says that containerd does not run or does not answer.
func away(err error) bool {
	return errdefs.IsUnavailable(err) || errdefs.IsDeadlineExceeded(err)
}

// attachTo returns a function that waits for the task of a container.
func attachTo(cntr containerd.Container) func(context.Context) (<-chan containerd.ExitStatus, error) {
	return func(ctx context.Context) (<-chan containerd.ExitStatus, error) {
		within, cancel := context.WithTimeout(ctx, attachTimeout)
		defer cancel()

		task, err := cntr.Task(within, nil)
		if err != nil {
			return nil, err
		}

		return task.Wait(ctx)
	}
}
