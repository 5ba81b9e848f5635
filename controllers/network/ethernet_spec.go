// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/ethtool"
)

// ethernetSpecController sets up network cards by EthernetSpecs. It keeps what a setting was before: a setting that is not wanted any more
// becomes that again. Its outputs are the conditions of the specs.
func ethernetSpecController(cards ethtool.Cards) controller.Controller {
	return &ethernetSpecs{cards: cards, before: map[string]ethtool.Settings{}, declared: declared{
		name: "network.EthernetSpecController",
		reads: []controller.Input{
			controller.In[network.EthernetSpecSpec](controller.Weak, ""),
			controller.In[network.LinkStatusSpec](controller.Weak, ""), // a new card has the driver's settings
		},
		writes: []controller.Output{controller.Out[network.SpecConditionSpec](controller.Shared)},
	}}
}

type ethernetSpecs struct {
	declared
	cards ethtool.Cards
	// before are the settings that were changed, as they were.
	before map[string]ethtool.Settings
}

// refusedRetry is when a setting that a driver refused is tried again: the kernel does not say when it would accept it.
const refusedRetry = time.Minute

// Run implements controller.Controller.
func (c *ethernetSpecs) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	watch := func(ctx context.Context, _ func()) error {
		<-ctx.Done()

		return nil
	}

	return follow(ctx, rt, watch, func(ctx context.Context) (time.Duration, error) { return c.reconcile(ctx, rt, log) })
}

func (c *ethernetSpecs) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) (again time.Duration, err error) {
	specs, err1 := typed.List[network.EthernetSpecSpec](ctx, rt, "")
	links, err2 := typed.List[network.LinkStatusSpec](ctx, rt, "")

	if err := errors.Join(err1, err2); err != nil {
		return 0, err
	}

	wanted, indexes, owners := map[string]ethtool.Settings{}, map[string]uint32{}, map[string]string{}

	for _, l := range links {
		indexes[l.Metadata().ID()] = l.TypedSpec().Index
	}

	rt.StartTrackingOutputs()

	for _, s := range specs {
		if s.Metadata().Phase() != resource.PhaseRunning {
			continue
		}

		id := s.Metadata().ID()
		link := linkNamed(id, links)
		condition := network.SpecConditionSpec{State: network.SpecConflict, Cause: "the link is already set up by " + owners[link]}

		if _, twice := wanted[link]; !twice {
			wanted[link], owners[link] = wantedSettings(*s.TypedSpec()), id
			condition = c.apply(link, wanted[link], indexes, log)
		}

		if condition.State == network.SpecRefused {
			again = refusedRetry
		}

		if err := set(ctx, rt, "", network.SpecConditionID(network.ConditionEthernet, id), condition); err != nil {
			return 0, err
		}
	}

	for link := range c.before {
		if _, ok := wanted[link]; !ok {
			c.apply(link, ethtool.Settings{}, indexes, log)
		}
	}

	return again, rt.CleanupOutputs(ctx, resource.KindOf[network.SpecConditionSpec](""))
}

// linkNamed returns the kernel's name of the link with a name or an alternative name, or that name if there is none.
func linkNamed(name string, links []*resource.Typed[network.LinkStatusSpec]) string {
	found := name

	for _, l := range links {
		switch {
		case l.Metadata().ID() == name:
			return name
		case slices.Contains(l.TypedSpec().AltNames, name):
			found = l.Metadata().ID()
		}
	}

	return found
}

// apply sets up one link, and restores settings that are not wanted any more.
func (c *ethernetSpecs) apply(link string, want ethtool.Settings, indexes map[string]uint32, log *slog.Logger) network.SpecConditionSpec {
	if _, ok := indexes[link]; !ok {
		delete(c.before, link) // a card that is plugged in again has the driver's settings

		return network.SpecConditionSpec{State: network.SpecWaiting, Cause: "link " + link + " does not exist"}
	}

	if c.cards == nil {
		return network.SpecConditionSpec{State: network.SpecRefused, Cause: "this kernel has no ethtool"}
	}

	have, err := c.cards.Read(link)
	if err != nil {
		return refusedBy(err)
	}

	before := c.before[link]

	change := ethtool.Difference(have, want.Over(before))
	if !change.Empty() {
		if err := c.cards.Set(link, change); err != nil {
			c.remember(link, before.Over(have.Same(want)))

			return refusedBy(err)
		}
	}

	// Of the earlier values, those of settings that are wanted now are kept.
	c.remember(link, before.Same(want).Over(have.Same(want)))

	if len(change.Features) > 0 {
		// The kernel says nothing about a feature that it leaves as it is.
		now, err := c.cards.Read(link)
		if err != nil {
			return refusedBy(err)
		}

		if left := ethtool.Difference(now, want).Features; len(left) > 0 {
			return network.SpecConditionSpec{State: network.SpecRefused, Cause: "the driver does not change features of link " + link + ": " +
				strings.Join(slices.Sorted(maps.Keys(left)), ", ")}
		}
	}

	if !change.Empty() {
		log.Info("network card set up", "link", link, "change", change)
	}

	return network.SpecConditionSpec{State: network.SpecApplied}
}

func (c *ethernetSpecs) remember(link string, before ethtool.Settings) {
	if before.Empty() {
		delete(c.before, link)
	} else {
		c.before[link] = before
	}
}

func refusedBy(err error) network.SpecConditionSpec {
	state := network.SpecRefused
	if errors.Is(err, unix.ENODEV) {
		state = network.SpecWaiting
	}

	return network.SpecConditionSpec{State: state, Cause: err.Error()}
}
