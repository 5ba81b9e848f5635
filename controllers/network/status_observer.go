// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// observer publishes the kernel's state as resources of S: observe returns them by id.
type observer[S resource.Spec] struct {
	declared
	kernel *netlink.Observer
	// what is the part of the kernel's state that observe looks at; 0 is all.
	what    netlink.Groups
	observe func(now *netlink.Snapshot) map[string]S
	// route, if set, returns the resource of one route: then changes of routes are published one by one.
	route func(netlink.Route, *netlink.Snapshot) (string, S)
}

// Run implements controller.Controller.
func (o *observer[S]) Run(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
	generation := uint64(0)

	return follow(ctx, rt, o.kernel.WatchOnly(o.what, nil), func(ctx context.Context) (time.Duration, error) {
		if last, ok, err := o.publishRoutes(ctx, rt, generation); ok || err != nil {
			generation = last

			return 0, err
		}

		now, err := o.kernel.Snapshot()
		if err != nil {
			return 0, fmt.Errorf("observe the kernel: %w", err)
		}

		if now.Generation == generation {
			return 0, nil
		}

		rt.StartTrackingOutputs()

		for id, spec := range o.observe(now) {
			if err := set(ctx, rt, "", id, spec); err != nil {
				return 0, err
			}
		}

		if err := rt.CleanupOutputs(ctx, resource.KindOf[S]("")); err != nil {
			return 0, err
		}

		generation = now.Generation

		return 0, nil
	})
}

// publishRoutes publishes the changes since a generation, and returns the one that is published then. It returns false if all must be
// published.
func (o *observer[S]) publishRoutes(ctx context.Context, rt controller.Runtime, since uint64) (uint64, bool, error) {
	if o.route == nil {
		return since, false, nil
	}

	now, changes, ok, err := o.kernel.Since(since)
	if err != nil || !ok {
		return since, false, err
	}

	type item struct {
		id   string
		spec S
	}

	items, last := make([]item, len(changes)), map[string]int{}

	for i, c := range changes {
		items[i].id, items[i].spec = o.route(c.Route, now)
		last[items[i].id] = i
	}

	for i, it := range items {
		switch {
		case last[it.id] != i:
			continue
		case !changes[i].Gone:
			if err := set(ctx, rt, "", it.id, it.spec); err != nil {
				return since, false, err
			}

			continue
		}

		if done, err := discard[S](ctx, rt, it.id); err != nil || !done {
			return since, false, err
		}
	}

	return now.Generation, true, nil
}

// discard destroys a resource, and returns false if others still hold it.
func discard[S resource.Spec](ctx context.Context, rt controller.Runtime, id string) (bool, error) {
	ready, err := typed.Teardown[S](ctx, rt, "", id)

	switch {
	case state.IsNotFound(err):
		return true, nil
	case err != nil || !ready:
		return false, err
	}

	return true, typed.Destroy[S](ctx, rt, "", id)
}
