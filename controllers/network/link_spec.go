// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// LinkSpecController makes the kernel's links what LinkSpecs say.
func LinkSpecController(d *Deps) controller.Controller { return &linkSpecController{d} }

type linkSpecController struct{ deps *Deps }

// Name implements controller.Controller.
func (*linkSpecController) Name() string { return "network.LinkSpecController" }

// Inputs implements controller.Controller.
func (*linkSpecController) Inputs() []controller.Input {
	return []controller.Input{controller.In[network.LinkSpecSpec](controller.Strong, "")}
}

// Outputs implements controller.Controller.
func (*linkSpecController) Outputs() []controller.Output { return nil }

// Run implements controller.Controller.
func (c *linkSpecController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	watch := func(ctx context.Context, changed func()) error {
		return c.deps.Kernel.Watch(ctx, netlink.WatchLinks, changed)
	}

	return follow(ctx, rt, watch, func(ctx context.Context) error { return c.reconcile(ctx, rt, log) })
}

func (c *linkSpecController) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	specs, err := hold[network.LinkSpecSpec](ctx, rt, c.Name())
	if err != nil {
		return err
	}

	links, err := c.deps.Kernel.Links()
	if err != nil {
		return err
	}

	var errs []error

	for _, step := range planLinks(specs.wanted, specs.leaving, links) {
		if err := step.do(c.deps.Kernel); err != nil {
			errs = append(errs, err)

			continue
		}

		log.Debug("link changed", "link", step.name)
	}

	// The change of a link wakes us, so that what depends on it follows in the next round.
	if len(errs) > 0 {
		return errors.Join(errs...)
	}

	return specs.release(ctx, rt, c.Name())
}
