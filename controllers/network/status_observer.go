// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// observer shows the kernel's state as resources of S: observe returns them by id.
type observer[S resource.Spec] struct {
	name    string
	kernel  netlink.Kernel
	groups  netlink.Groups
	kind    controller.OutputKind
	observe func() (map[string]S, error)
}

// Name implements controller.Controller.
func (o *observer[S]) Name() string { return o.name }

// Inputs implements controller.Controller.
func (*observer[S]) Inputs() []controller.Input { return nil }

// Outputs implements controller.Controller.
func (o *observer[S]) Outputs() []controller.Output {
	return []controller.Output{controller.Out[S](o.kind)}
}

// Run implements controller.Controller.
func (o *observer[S]) Run(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
	watch := func(ctx context.Context, changed func()) error { return o.kernel.Watch(ctx, o.groups, changed) }

	return follow(ctx, rt, watch, func(ctx context.Context) error {
		specs, err := o.observe()
		if err != nil {
			return fmt.Errorf("observe the kernel: %w", err)
		}

		rt.StartTrackingOutputs()

		for id, spec := range specs {
			if err := set(ctx, rt, "", id, spec); err != nil {
				return err
			}
		}

		return rt.CleanupOutputs(ctx, resource.KindOf[S](""))
	})
}

// linkNames maps indexes to names.
func linkNames(k netlink.Kernel) (map[uint32]string, error) {
	links, err := k.Links()
	if err != nil {
		return nil, err
	}

	names := make(map[uint32]string, len(links))
	for _, l := range links {
		names[l.Index] = l.Name
	}

	return names, nil
}
