// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
)

// Round is one call of a controller's function.
type Round struct {
	Controller string
	// Resource that a queue controller works on; the zero pointer for a controller without a queue.
	Resource resource.Pointer
	// Mapping is true for MapInput, false for Reconcile.
	Mapping bool
}

// Observer is called at the beginning of a round. It returns the context for the round, and a function (or nil) that is called
// at the end with the error of the round. It must be safe for use by several goroutines. Packages cosiprom and cosiotel have
// observers.
type Observer func(ctx context.Context, r Round) (context.Context, func(err error))

// Outcome of a round, as metrics and traces name it.
type Outcome string

// The outcomes.
const (
	Done     Outcome = "done"
	Requeued Outcome = "requeued" // done, to be repeated after a delay
	Skipped  Outcome = "skipped"
	Failed   Outcome = "failed"
)

// OutcomeOf returns the outcome for the error of a round.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Done
	}

	var requeue *controller.RequeueError

	switch {
	case errors.As(err, &requeue) && requeue.Err == nil:
		return Requeued
	case errors.Is(err, controller.ErrSkip):
		return Skipped
	default:
		return Failed
	}
}

// observe runs one round with all observers.
func (rt *Runtime) observe(ctx context.Context, r Round, fn func(context.Context) error) error {
	if len(rt.observers) == 0 {
		return fn(ctx)
	}

	var ends []func(error)

	for _, o := range rt.observers {
		var end func(error)
		if ctx, end = o(ctx, r); end != nil {
			ends = append(ends, end)
		}
	}

	err := guard.Call(func() error { return fn(ctx) })

	for _, end := range slices.Backward(ends) {
		end(err)
	}

	return err
}
