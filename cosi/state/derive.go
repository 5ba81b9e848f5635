// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// The operations below are made of others; drivers use them where they have nothing better.

// WatchUntil is WatchFor by means of Watch.
func WatchUntil(ctx context.Context, w Watcher, ptr resource.Pointer, conditions ...Condition) (resource.Resource, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	ch := make(chan Event, 1)
	if err := w.Watch(ctx, ptr, ch); err != nil {
		return nil, fmt.Errorf("watch for %s: %w", ptr, err)
	}

	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("watch for %s: %w", ptr, ctx.Err())
		case ev := <-ch:
			if holds(ev, conditions) {
				return ev.Resource, nil
			}

			if ev.Type == Errored {
				return nil, fmt.Errorf("watch for %s: %w", ptr, ev.Error)
			}
		}
	}
}

func holds(ev Event, conditions []Condition) bool {
	for _, c := range conditions {
		if !c(ev) {
			return false
		}
	}

	return true
}

// TeardownAndWait is TeardownAndDestroy by means of Teardown, Watch and Destroy. When somebody else destroys the
// resource meanwhile, that is success.
func TeardownAndWait(ctx context.Context, st interface {
	Watcher
	Writer
}, ptr resource.Pointer, opts ...WriteOption,
) error {
	ready, err := st.Teardown(ctx, ptr, opts...)
	if err != nil {
		return err
	}

	for {
		if ready {
			if err := st.Destroy(ctx, ptr, opts...); err == nil || IsNotFound(err) {
				return nil
			} else if ClassOf(err) != PendingFinalizers {
				return err
			}
		}

		ev, err := free(ctx, st, ptr)
		if err != nil {
			return err
		}

		if ev == Destroyed {
			return nil
		}

		ready = true
	}
}

// free waits until the resource has no finalizers, or is gone.
func free(ctx context.Context, w Watcher, ptr resource.Pointer) (EventType, error) {
	var seen EventType

	_, err := w.WatchFor(ctx, ptr, func(ev Event) bool {
		seen = ev.Type

		// A running one was made anew: ours is gone.
		if ev.Type == Destroyed || PhaseIs(resource.PhaseRunning)(ev) {
			seen = Destroyed

			return true
		}

		return FinalizersEmpty()(ev)
	})

	return seen, err
}
