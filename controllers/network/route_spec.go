// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// routeSpecController sets the routes of RouteSpecs in the kernel's tables.
func routeSpecController(kernel *netlink.Observer) controller.Controller {
	return &specController[network.RouteSpecSpec]{
		declared: specsOf[network.RouteSpecSpec]("network.RouteSpecController"), kind: network.ConditionRoute, kernel: kernel, what: netlink.WatchLinks | netlink.WatchAddresses | netlink.WatchRoutes, touches: netlink.WatchRoutes, tries: tries{},
		planner: &routePlanner{set: map[string][]netlink.Route{}},
	}
}

// routePlanner has the routes that it set for each spec and has not removed: the metric may differ from the spec's, and a spec may
// change.
type routePlanner struct {
	set map[string][]netlink.Route
	// matter are the keys of routes that matter to the last plan; nil is all.
	matter atomic.Pointer[map[netlink.Key]bool]
}

// listen implements selective.
func (p *routePlanner) listen() { p.matter.Store(nil) }

// interested implements selective: other programs may have thousands of routes.
func (p *routePlanner) interested(changes []netlink.RouteChange) bool {
	keys := p.matter.Load()

	return keys == nil || slices.ContainsFunc(changes, func(c netlink.RouteChange) bool { return (*keys)[c.Route.Key()] })
}

// noteKeys records which routes matter: all, if something is to be done or waits.
func (p *routePlanner) noteKeys(out plan, routes []assigned, leaving int) {
	waits := leaving > 0 || len(out.steps) > 0

	for _, c := range out.conditions {
		waits = waits || c.State != network.SpecApplied
	}

	if waits {
		p.matter.Store(nil)

		return
	}

	keys := map[netlink.Key]bool{}

	for _, a := range routes {
		keys[a.route.Key()] = true
	}

	for _, set := range p.set {
		for _, r := range set {
			keys[r.Key()] = true
		}
	}

	p.matter.Store(&keys)
}

// assigned is a spec with the route that it gets.
type assigned struct {
	item[network.RouteSpecSpec]

	route netlink.Route
	// cause is why the metric is not the spec's.
	cause string
	// ready means that the link exists and is up.
	ready bool
	// taken means that other routes have all metrics from the spec's on.
	taken bool
}

// assign returns a route for each spec. The kernel has one route for each table, destination and metric: the winning spec gets it, by
// layer, then by the name of its link; the others get the next free metrics. The result does not depend on which links exist, so that
// a card that is added or removed does not change the routes of others.
func assign(specs []item[network.RouteSpecSpec]) []assigned {
	owners := map[netlink.Key]*assigned{}
	out := make([]assigned, 0, len(specs))
	order := ranked(specs, func(a, b network.RouteSpecSpec) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.OutLinkName, b.OutLinkName))
	})

	var losers []int

	for i, s := range order {
		out = append(out, assigned{item: s, route: routeOf(s.spec)})

		if key := out[i].route.Key(); owners[key] == nil {
			owners[key] = &out[i]
		} else {
			losers = append(losers, i)
		}
	}

	for _, i := range losers {
		a := &out[i]
		winner := owners[a.route.Key()]

		for owners[a.route.Key()] != nil && a.route.Priority < math.MaxUint32 {
			a.route.Priority++
		}

		if owners[a.route.Key()] != nil { // no overflow to 0, the most preferred
			a.taken = true
			a.cause = fmt.Sprintf("metric %d is used by %s, and there is none above it", a.spec.Priority, winner.id)

			continue
		}

		owners[a.route.Key()] = a
		a.cause = fmt.Sprintf("metric %d instead of %d, which is used by %s", a.route.Priority, a.spec.Priority, winner.id)
	}

	return out
}

// routeOf returns the route of a spec, without its link.
func routeOf(spec network.RouteSpecSpec) netlink.Route {
	return netlink.Route{
		Family: uint8(spec.Family), Destination: spec.Destination, Source: spec.Source, Gateway: spec.Gateway, Table: uint32(spec.Table),
		Priority: spec.Priority, Scope: uint8(spec.Scope), Type: uint8(spec.Type), Flags: uint32(spec.Flags), Protocol: uint8(spec.Protocol), MTU: spec.MTU,
	}
}

// plan sets before it removes.
func (p *routePlanner) plan(specs held[network.RouteSpecSpec], now *netlink.Snapshot) plan {
	out := newPlan()
	routes := assign(specs.wanted)
	before := p.set
	p.set = map[string][]netlink.Route{}

	var needed []netlink.Route // not to be removed on behalf of another spec

	for i := range routes {
		a := &routes[i]
		p.set[a.id] = there(before[a.id], now)

		if a.taken {
			out.say(a.id, network.SpecConflict, a.cause)

			continue
		}

		if cause := locate(a, now); cause != "" {
			out.say(a.id, network.SpecWaiting, cause+p.kept(a.id, now))

			continue
		}

		a.ready = true
		needed = append(needed, a.route)

		if a.cause != "" {
			out.say(a.id, network.SpecApplied, a.cause)
		}
	}

	// Routes without a gateway come first: gateways may be reached by them.
	slices.SortStableFunc(routes, func(a, b assigned) int { return compareBool(a.route.Gateway.IsValid(), b.route.Gateway.IsValid()) })

	for _, a := range routes {
		if a.ready {
			p.planRoute(&out, a.id, a.route, needed, now)
		} else {
			p.planSuperseded(&out, a.id, needed, now)
		}
	}

	for _, s := range specs.leaving {
		p.set[s.id] = there(before[s.id], now) // until it is removed

		if a := (assigned{item: s, route: routeOf(s.spec)}); len(p.set[s.id]) == 0 && locate(&a, now) == "" {
			p.set[s.id] = there([]netlink.Route{a.route}, now)
		}

		p.planRemoval(&out, s.id, netlink.Route{}, needed, now)
	}

	p.noteKeys(out, routes, len(specs.leaving))

	return out
}

// there returns the routes that the kernel has.
func there(routes []netlink.Route, now *netlink.Snapshot) []netlink.Route {
	return slices.DeleteFunc(slices.Clone(routes), func(r netlink.Route) bool { return !contains(now.Routes, r) })
}

// locate sets the link of a route, or returns what the route waits for.
func locate(a *assigned, now *netlink.Snapshot) string {
	if a.spec.OutLinkName != "" {
		link, ok := now.Link(a.spec.OutLinkName)

		switch {
		case !ok:
			return "link " + a.spec.OutLinkName + " does not exist"
		case !link.Up():
			return "link " + a.spec.OutLinkName + " is down"
		}

		a.route.LinkIndex = link.Index
	}

	if cause := locateWays(a, now); cause != "" {
		return cause
	}

	source := a.route.Source
	if source.IsValid() && !slices.ContainsFunc(now.Addresses, func(have netlink.Address) bool { return have.Prefix.Addr() == source }) {
		return "no link has the source address " + source.String()
	}

	return ""
}

// locateWays sets the links of several ways. The kernel shows one way as a route with a gateway.
func locateWays(a *assigned, now *netlink.Snapshot) string {
	ways := make([]netlink.NextHop, 0, len(a.spec.NextHops))

	for _, hop := range a.spec.NextHops {
		link, ok := now.Link(hop.OutLinkName)

		switch {
		case !ok:
			return "link " + hop.OutLinkName + " does not exist"
		case !link.Up():
			return "link " + hop.OutLinkName + " is down"
		}

		ways = append(ways, netlink.NextHop{Gateway: hop.Gateway, LinkIndex: link.Index, Weight: max(hop.Weight, 1)})
	}

	switch len(ways) {
	case 0:
	case 1:
		a.route.Gateway, a.route.LinkIndex = ways[0].Gateway, ways[0].LinkIndex
	default:
		a.route.NextHops = ways
	}

	return ""
}

// planRoute sets a route unless the kernel has it, and then removes what was set for the spec before.
func (p *routePlanner) planRoute(out *plan, id string, want netlink.Route, needed []netlink.Route, now *netlink.Snapshot) {
	if slices.ContainsFunc(now.Routes, func(have netlink.Route) bool { return satisfies(have, want) }) {
		p.note(id, want)
		p.planRemoval(out, id, want, needed, now)

		return
	}

	out.add(id, "set route "+describeRoute(want, now), func(k netlink.Kernel) error {
		err := k.ReplaceRoute(want)
		if err == nil {
			p.note(id, want)
		}

		return err
	})
	out.steps[len(out.steps)-1].stays = p.kept(id, now)
	p.planSuperseded(out, id, needed, now)
}

// note records what is set for a spec, the latest last.
func (p *routePlanner) note(id string, r netlink.Route) {
	p.set[id] = append(slices.DeleteFunc(p.set[id], func(old netlink.Route) bool { return contains([]netlink.Route{r}, old) }), r)
}

// planSuperseded removes all but the latest route of a spec that cannot be applied: the spec may have changed after a route was set and
// before the earlier one was removed.
func (p *routePlanner) planSuperseded(out *plan, id string, needed []netlink.Route, now *netlink.Snapshot) {
	if set := p.set[id]; len(set) > 1 {
		p.planRemoval(out, id, set[len(set)-1], needed, now)
	}
}

// planRemoval removes the routes of a spec, except those that it wants now and those that others need.
func (p *routePlanner) planRemoval(out *plan, id string, want netlink.Route, needed []netlink.Route, now *netlink.Snapshot) {
	for _, old := range p.set[id] {
		have, ok := inKernel(old, now.Routes)
		if !ok || contains(needed, old) || contains([]netlink.Route{want}, old) {
			continue
		}

		out.add(id, "remove route "+describeRoute(have, now), func(k netlink.Kernel) error { return k.DeleteRoute(have) })
	}
}

const keptUntilThen = " is kept until then"

// kept returns a text about the earlier route of a spec, which stays until the spec can be applied.
func (p *routePlanner) kept(id string, now *netlink.Snapshot) string {
	set := p.set[id]
	if len(set) == 0 {
		return ""
	}

	return "; " + describeRoute(set[len(set)-1], now) + keptUntilThen
}

// inKernel returns the kernel's route with the same key and way.
func inKernel(r netlink.Route, routes []netlink.Route) (netlink.Route, bool) {
	i := slices.IndexFunc(routes, func(have netlink.Route) bool { return have.Key() == r.Key() && have.SameWay(r) })
	if i < 0 {
		return netlink.Route{}, false
	}

	return routes[i], true
}

func contains(routes []netlink.Route, r netlink.Route) bool {
	_, ok := inKernel(r, routes)

	return ok
}

// satisfies reports whether the kernel's route is the wanted one.
func satisfies(have, want netlink.Route) bool {
	if have.Key() != want.Key() || !have.SameWay(want) || have.Type != want.Type || have.Protocol != want.Protocol || have.MTU != want.MTU || !have.SameFlags(want) ||
		!slices.Equal(have.NextHops, want.NextHops) {
		return false
	}

	// IPv6 has no scopes.
	return (want.Family == unix.AF_INET6 || have.Scope == want.Scope) && have.Source == want.Source
}

// describeRoute returns a text for a route, with the names of links and the source.
func describeRoute(r netlink.Route, now *netlink.Snapshot) string {
	text, names := r.String(), now.LinkNames()

	for _, hop := range append(slices.Clone(r.NextHops), netlink.NextHop{LinkIndex: r.LinkIndex}) {
		if name, ok := names[hop.LinkIndex]; ok {
			text = strings.ReplaceAll(text, fmt.Sprintf(" dev %d ", hop.LinkIndex), " dev "+name+" ")
		}
	}

	if r.Source.IsValid() {
		text += " src " + r.Source.String()
	}

	return text
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
