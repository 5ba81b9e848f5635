// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"slices"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Round is one piece of a controller's work.
type Round struct {
	Controller string
	// Resource that a queue controller works on; the zero pointer for a controller without a queue.
	Resource resource.Pointer
	// Mapping tells MapInput from Reconcile.
	Mapping bool
}

// Observer is called at the beginning of a round. It returns the context for the round and, unless nil, what is called at
// its end with the error of the round. It must be safe for use by several goroutines. Packages prometheus and otel have
// observers.
type Observer func(ctx context.Context, r Round) (context.Context, func(err error))

// observe runs one round before all observers.
func (rt *Runtime) observe(ctx context.Context, r Round, fn func(context.Context) error) (err error) {
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

	defer func() {
		p := recover()
		if p != nil {
			err = panicked(p)
		}

		for _, end := range slices.Backward(ends) {
			end(err)
		}
	}()

	return fn(ctx)
}
