// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// The operations below use other operations. Drivers without a native implementation use them.

// WatchUntil implements WatchFor with Watch.
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

// TeardownAndWait implements TeardownAndDestroy with Teardown, Get, Watch and Destroy. If another client destroys the resource
// first, that is success, and a resource that is then created with the same address is left alone.
func TeardownAndWait(ctx context.Context, st interface {
	Reader
	Watcher
	Writer
}, ptr resource.Pointer, opts ...WriteOption,
) error {
	ready, err := st.Teardown(ctx, ptr, opts...)
	if err != nil {
		return err
	}

	cur, err := st.Get(ctx, ptr, WithCurrent())

	switch {
	case IsNotFound(err):
		return nil
	case err != nil:
		return err
	case cur.Metadata().Phase() == resource.PhaseRunning:
		return nil // ours was destroyed: this one was created afterwards
	}

	created := cur.Metadata().Created()
	opts = append(opts[:len(opts):len(opts)], WithCreated(created))

	for {
		if ready {
			switch err := st.Destroy(ctx, ptr, opts...); {
			case err == nil, IsNotFound(err), ClassOf(err) == VersionConflict:
				return nil // destroyed, by us or by another client
			case ClassOf(err) != PendingFinalizers:
				return err
			}
		}

		if gone, err := free(ctx, st, ptr, created); err != nil || gone {
			return err
		}

		ready = true
	}
}

// free waits until the resource that was created at the time has no finalizers or does not exist.
func free(ctx context.Context, w Watcher, ptr resource.Pointer, created time.Time) (gone bool, err error) {
	_, err = w.WatchFor(ctx, ptr, func(ev Event) bool {
		gone = ev.Type == Destroyed || exists(ev) && CheckCreated("destroy", ev.Resource, created) != nil

		return gone || FinalizersEmpty()(ev)
	})

	return gone, err
}
