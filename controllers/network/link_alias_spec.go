// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// linkAliasSpecController gives links their second names in the kernel, and takes them back. It has a Run of its own because the kernel's
// events wake it too.
func linkAliasSpecController(kernel *netlink.Observer) controller.Controller {
	return &aliases{kernel: kernel, given: map[uint32]string{}, declared: declared{
		name:  "network.LinkAliasSpecController",
		reads: []controller.Input{controller.In[network.LinkAliasSpecSpec](controller.Weak, "")},
	}}
}

type aliases struct {
	declared
	kernel *netlink.Observer
	given  map[uint32]string // by the link's index
}

// Run implements controller.Controller.
func (c *aliases) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	return follow(ctx, rt, c.kernel.WatchOnly(netlink.WatchLinks, nil), func(ctx context.Context) (time.Duration, error) {
		specs, err := typed.List[network.LinkAliasSpecSpec](ctx, rt, "")
		if err != nil {
			return 0, err
		}

		wanted := map[string]string{}
		for _, s := range specs {
			wanted[s.Metadata().ID()] = s.TypedSpec().Alias
		}

		now, err := c.kernel.Snapshot()
		if err != nil {
			return 0, err
		}

		return 0, c.apply(wanted, now, log)
	})
}

// apply changes the links that differ. A name that this controller did not give stays. Names are taken back before they are given: a name that
// moves to another link is free then.
func (c *aliases) apply(wanted map[string]string, now *netlink.Snapshot, log *slog.Logger) error {
	there := map[uint32]bool{}

	for _, l := range now.Links {
		there[l.Index] = true

		if old := c.given[l.Index]; old != "" && old != wanted[l.Name] {
			if err := c.name(l, old, "", log); err != nil {
				return err
			}
		}
	}

	for _, l := range now.Links {
		want, old := wanted[l.Name], c.given[l.Index]

		if want == "" || old == want && l.Alias == want && l.Named(want) {
			continue
		}

		if old == "" && slices.Contains(l.AltNames, want) {
			old = want // it has the name already
		}

		if err := c.name(l, old, want, log); err != nil {
			return err
		}
	}

	for index := range c.given {
		if !there[index] {
			delete(c.given, index)
		}
	}

	return nil
}

// name gives a link a name in place of the old one; none takes it back.
func (c *aliases) name(l netlink.Link, old, name string, log *slog.Logger) error {
	if err := c.kernel.Change(netlink.WatchLinks, func(k netlink.Kernel) error { return k.SetAlias(l.Index, old, name) }); err != nil {
		return fmt.Errorf("alias of link %s: %w", l.Name, err)
	}

	log.Info("network changed", "link", l.Name, "alias", name)

	c.given[l.Index] = name
	if name == "" {
		delete(c.given, l.Index)
	}

	return nil
}
