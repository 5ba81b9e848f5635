// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// contextWithTeardown implements Access.ContextWithTeardown with a state.
func contextWithTeardown(ctx context.Context, st state.State, ptr resource.Pointer) (context.Context, context.CancelFunc, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	events := make(chan state.Event, 1)

	if err := st.Watch(ctx, ptr, events); err != nil {
		cancel(err)

		return nil, nil, err
	}

	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case ev := <-events:
				if err := leaving(ev, ptr); err != nil {
					cancel(err)
				}
			}
		}
	}()

	return ctx, func() { cancel(context.Canceled) }, nil
}

// leaving returns why a context that depends on the resource ends, nil if it does not.
func leaving(ev state.Event, ptr resource.Pointer) error {
	switch ev.Type {
	case state.Destroyed:
		return fmt.Errorf("%w: %s was destroyed", controller.ErrTeardown, ptr)
	case state.Created, state.Updated:
		if ev.Resource.Metadata().Phase() == resource.PhaseTearingDown {
			return fmt.Errorf("%w: %s", controller.ErrTeardown, ptr)
		}
	case state.Errored:
		return fmt.Errorf("watch %s: %w", ptr, ev.Error)
	case state.Bootstrapped, state.Noop:
	}

	return nil
}
