// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/ethtool"
)

// ethernetStatusController publishes the settings of network cards, and of links that an EthernetSpec names. Other programs may change them
// too: the kernel says when.
func ethernetStatusController(cards ethtool.Cards) controller.Controller {
	return &ethernetStatuses{cards: cards, declared: declared{
		name: "network.EthernetStatusController",
		reads: []controller.Input{
			controller.In[network.EthernetSpecSpec](controller.Weak, ""),
			controller.In[network.LinkStatusSpec](controller.Weak, ""),
		},
		writes: []controller.Output{controller.Out[network.EthernetStatusSpec](controller.Exclusive)},
	}}
}

type ethernetStatuses struct {
	declared
	cards ethtool.Cards
}

// Run implements controller.Controller.
func (c *ethernetStatuses) Run(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
	watch := func(ctx context.Context, changed func()) error {
		if c.cards != nil {
			return c.cards.Watch(ctx, changed)
		}

		<-ctx.Done()

		return nil
	}

	return follow(ctx, rt, watch, func(ctx context.Context) (time.Duration, error) { return 0, c.reconcile(ctx, rt) })
}

func (c *ethernetStatuses) reconcile(ctx context.Context, rt controller.Runtime) error {
	specs, err1 := typed.List[network.EthernetSpecSpec](ctx, rt, "")
	links, err2 := typed.List[network.LinkStatusSpec](ctx, rt, "")

	if err := errors.Join(err1, err2); err != nil {
		return err
	}

	named := map[string]bool{}
	for _, s := range specs {
		named[s.Metadata().ID()] = true
	}

	rt.StartTrackingOutputs()

	for _, l := range links {
		link, spec := l.Metadata().ID(), *l.TypedSpec()
		if c.cards == nil || !spec.Physical() && !named[link] {
			continue
		}

		settings, err := c.cards.Read(link)
		if errors.Is(err, unix.ENODEV) {
			continue // the link was removed meanwhile
		}

		if err != nil {
			return err
		}

		if err := set(ctx, rt, "", link, ethernetStatus(spec, settings)); err != nil {
			return err
		}
	}

	return rt.CleanupOutputs(ctx, resource.KindOf[network.EthernetStatusSpec](""))
}
