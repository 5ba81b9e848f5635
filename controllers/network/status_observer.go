// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// observer publishes the kernel's state as resources of S: observe returns them by id.
type observer[S resource.Spec] struct {
	declared
	kernel  *netlink.Observer
	observe func(now *netlink.Snapshot) map[string]S
}

// Run implements controller.Controller.
func (o *observer[S]) Run(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
	generation := uint64(0)

	return follow(ctx, rt, o.kernel.Watch, func(ctx context.Context) (time.Duration, error) {
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
