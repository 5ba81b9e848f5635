// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// RouteSpecController puts the routes of RouteSpecs into the kernel's tables.
func RouteSpecController(d *Deps) controller.Controller { return &routeSpecController{d} }

type routeSpecController struct{ deps *Deps }

// Name implements controller.Controller.
func (*routeSpecController) Name() string { return "network.RouteSpecController" }

// Inputs implements controller.Controller.
func (*routeSpecController) Inputs() []controller.Input {
	return []controller.Input{controller.In[network.RouteSpecSpec](controller.Strong, "")}
}

// Outputs implements controller.Controller.
func (*routeSpecController) Outputs() []controller.Output { return nil }

// Run implements controller.Controller.
func (c *routeSpecController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	watch := func(ctx context.Context, changed func()) error {
		return c.deps.Kernel.Watch(ctx, netlink.WatchLinks|netlink.WatchAddresses|netlink.WatchRoutes, changed)
	}

	return follow(ctx, rt, watch, func(ctx context.Context) error { return c.reconcile(ctx, rt, log) })
}

func (c *routeSpecController) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	specs, err := hold[network.RouteSpecSpec](ctx, rt, c.Name())
	if err != nil {
		return err
	}

	links, err := c.deps.Kernel.Links()
	if err != nil {
		return err
	}

	routes, err := c.deps.Kernel.Routes()
	if err != nil {
		return err
	}

	remove, set := planRoutes(specs.wanted, specs.leaving, links, routes)

	var errs []error

	for _, r := range remove {
		errs = append(errs, c.deps.Kernel.DeleteRoute(r))

		log.Info("route removed", "route", r)
	}

	for _, r := range set {
		err := c.deps.Kernel.ReplaceRoute(r)

		switch {
		case notYet(err):
			// The gateway's network or the source address is not there yet; its coming wakes us.
			log.Debug("route has to wait", "route", r, "for", err)
		case err != nil:
			errs = append(errs, err)
		default:
			log.Info("route set", "route", r)
		}
	}

	if err := errors.Join(errs...); err != nil {
		return err
	}

	return specs.release(ctx, rt, c.Name())
}

// notYet tells the kernel's errors for a route that lacks an address or a link that is up. EINVAL is how it
// refuses a preferred source that is no own address.
func notYet(err error) bool {
	for _, errno := range []error{unix.ENETUNREACH, unix.EHOSTUNREACH, unix.ENETDOWN, unix.EINVAL} {
		if errors.Is(err, errno) {
			return true
		}
	}

	return false
}

// planRoutes returns what to remove from the kernel, then what to set. A route over a link that is not there
// or down waits for it. Routes without a gateway come first: gateways may be behind them.
func planRoutes(wanted, leaving []network.RouteSpecSpec, links []netlink.Link, routes []netlink.Route) (remove, set []netlink.Route) {
	convert := func(spec network.RouteSpecSpec) (netlink.Route, bool) {
		r := netlink.Route{
			Family: uint8(spec.Family), Destination: spec.Destination, Source: spec.Source, Gateway: spec.Gateway, Table: uint32(spec.Table),
			Priority: spec.Priority, Scope: uint8(spec.Scope), Type: uint8(spec.Type), Flags: uint32(spec.Flags), Protocol: uint8(spec.Protocol), MTU: spec.MTU,
		}

		if spec.OutLinkName == "" {
			return r, true
		}

		i := slices.IndexFunc(links, func(l netlink.Link) bool {
			return l.Name == spec.OutLinkName || slices.Contains(l.AltNames, spec.OutLinkName)
		})
		if i < 0 || !links[i].Up() {
			return r, false
		}

		r.LinkIndex = links[i].Index

		return r, true
	}

	for _, spec := range leaving {
		r, ok := convert(spec)
		if !ok {
			continue // it went with its link
		}

		if slices.ContainsFunc(routes, func(have netlink.Route) bool { return have.SameKey(r) && have.Gateway == r.Gateway }) {
			remove = append(remove, r)
		}
	}

	for _, spec := range wanted {
		r, ok := convert(spec)
		if ok && !slices.ContainsFunc(routes, func(have netlink.Route) bool { return satisfies(have, r) }) {
			set = append(set, r)
		}
	}

	slices.SortStableFunc(set, func(a, b netlink.Route) int {
		switch {
		case a.Gateway.IsValid() == b.Gateway.IsValid():
			return 0
		case b.Gateway.IsValid():
			return -1
		default:
			return 1
		}
	})

	return remove, set
}

// satisfies tells whether the kernel's route is the wanted one.
func satisfies(have, want netlink.Route) bool {
	if !have.SameKey(want) || have.Gateway != want.Gateway || have.Type != want.Type || have.Protocol != want.Protocol || have.MTU != want.MTU {
		return false
	}

	// The kernel fills in the link and, for IPv6, has no scopes.
	return (want.LinkIndex == 0 || have.LinkIndex == want.LinkIndex) &&
		(want.Family == unix.AF_INET6 || have.Scope == want.Scope) && have.Source == want.Source
}
