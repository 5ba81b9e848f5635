// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// addressSpecController sets the addresses of AddressSpecs on links.
func addressSpecController(kernel *netlink.Observer) controller.Controller {
	return &specController[network.AddressSpecSpec]{
		declared: specsOf[network.AddressSpecSpec]("network.AddressSpecController"), kind: network.ConditionAddress, kernel: kernel, what: netlink.WatchLinks | netlink.WatchAddresses | netlink.WatchRoutes, touches: netlink.WatchAddresses | netlink.WatchRoutes, tries: tries{},
		planner: &addressPlanner{leavingSince: map[string]time.Time{}},
	}
}

// addressPlanner has the times since when addresses wait to be removed, and the links of addresses.
type addressPlanner struct {
	leavingSince map[string]time.Time
	links        knownLinks
	routes       atomic.Bool // whether routes matter
}

// listen implements selective.
func (p *addressPlanner) listen() { p.routes.Store(true) }

// interested implements selective: routes matter only while addresses wait to be removed.
func (p *addressPlanner) interested([]netlink.RouteChange) bool { return p.routes.Load() }

// sourcePatience is how long an address stays while routes have it as their source: the kernel would remove these routes, although
// others are about to replace them.
const sourcePatience = time.Second

// decided are the flags of an address that a spec sets; the kernel adds others.
const decided = nethelpers.AddressNoPrefixRoute | nethelpers.AddressManagementTemp | nethelpers.AddressPermanent

// plan adds before it removes, so that a change of address does not take the link's routes away between the two. An IPv4 address that moves to
// another link is removed first: with it the kernel removes all routes that have it as their source, also those to the networks of other links.
func (p *addressPlanner) plan(specs held[network.AddressSpecSpec], now *netlink.Snapshot) plan {
	out := newPlan()
	wanted := p.planWanted(&out, specs.wanted, now)
	adds := out.steps
	out.steps = nil

	p.links = noteLinks(p.links, specs, now, func(s network.AddressSpecSpec) string { return s.LinkName })

	var later, moving []departure

	for _, d := range p.departures(specs, now) {
		switch {
		case slices.ContainsFunc(wanted, func(w located) bool { return w.address.Same(d.have) }): // another spec wants it there
			if !d.leaving {
				p.links.forget(d.id, d.link.Index)
			}
		case slices.ContainsFunc(wanted, func(w located) bool { return movesTo(d.have, w.address) }):
			moving = append(moving, d)
			d.remove(&out)
		default:
			later = append(later, d)
		}
	}

	out.steps = append(out.steps, adds...)
	planAgain(&out, wanted, moving, now)
	p.planRemovals(&out, later, len(adds) > 0, now)

	return out
}

// departure is an address on a link that its spec does not want there any more.
type departure struct {
	id   string
	have netlink.Address
	link netlink.Link
	// leaving is set if nothing wants the address of the spec any more.
	leaving bool
}

func (d departure) remove(out *plan) {
	out.add(d.id, fmt.Sprintf("remove address %s from %s", d.have.Prefix, d.link.Name), func(k netlink.Kernel) error { return k.DeleteAddress(d.have) })
}

// departures returns the addresses of specs that are no more, and those of wanted specs on links that they do not mean any more.
func (p *addressPlanner) departures(specs held[network.AddressSpecSpec], now *netlink.Snapshot) (out []departure) {
	for _, s := range specs.leaving {
		for _, link := range p.links.links(now, s.id) { // without one, it was removed with its link
			if have, ok := onLink(now, link, s.spec.Address); ok {
				out = append(out, departure{s.id, have, link, true})
			}
		}
	}

	for _, s := range specs.wanted {
		for _, link := range p.links.left(now, s.id, s.spec.LinkName) {
			if have, ok := onLink(now, link, s.spec.Address); ok {
				out = append(out, departure{s.id, have, link, false})
			} else {
				p.links.forget(s.id, link.Index)
			}
		}
	}

	return out
}

// planRemovals removes addresses after others were added.
func (p *addressPlanner) planRemovals(out *plan, departures []departure, adds bool, now *netlink.Snapshot) {
	leaving := map[string]time.Time{}

	for _, d := range departures {
		since, ok := p.leavingSince[d.id]
		if !ok {
			since = time.Now()
		}

		switch left := time.Until(since.Add(sourcePatience)); {
		case left > 0 && isSource(now.Routes, d.have.Prefix.Addr()):
			leaving[d.id], out.again = since, left
			out.staying[d.id] = d.leaving
		case d.leaving || !adds:
			d.remove(out)
		}
	}

	p.leavingSince = leaving
	p.routes.Store(len(leaving) > 0)
}

// movesTo reports whether an address of a link is wanted on another one, where its route would go with the first.
func movesTo(have, want netlink.Address) bool {
	return have.LinkIndex != want.LinkIndex && have.Prefix.Addr() == want.Prefix.Addr() && want.Prefix.Addr().Is4()
}

// planAgain sets addresses again that both links have, after they were removed from one: the route to the network is gone.
func planAgain(out *plan, wanted []located, moving []departure, now *netlink.Snapshot) {
	for _, w := range wanted {
		i := slices.IndexFunc(now.Addresses, w.address.Same)
		if i < 0 || w.address.Prefix.IsSingleIP() || !slices.ContainsFunc(moving, func(d departure) bool { return movesTo(d.have, w.address) }) {
			continue
		}

		have := now.Addresses[i]

		out.add(w.id, fmt.Sprintf("set address %s on %s again", have.Prefix, w.link), func(k netlink.Kernel) error {
			if err := k.DeleteAddress(have); err != nil {
				return err
			}

			return k.AddAddress(w.address)
		})
	}
}

// onLink returns the kernel's address on a link.
func onLink(now *netlink.Snapshot, link netlink.Link, address netip.Prefix) (netlink.Address, bool) {
	i := slices.IndexFunc(now.Addresses, func(have netlink.Address) bool { return have.LinkIndex == link.Index && have.Prefix == address })
	if i < 0 {
		return netlink.Address{}, false
	}

	return now.Addresses[i], true
}

// isSource reports whether a route of this system has the address as its source.
func isSource(routes []netlink.Route, a netip.Addr) bool {
	return slices.ContainsFunc(routes, func(r netlink.Route) bool {
		return r.Source == a && (r.Protocol == unix.RTPROT_DHCP || r.Protocol == unix.RTPROT_STATIC)
	})
}

// located is a wanted address with the link that it is for.
type located struct {
	id, link string
	address  netlink.Address
}

// planWanted plans the wanted addresses, and returns them. Of several specs of the same address on a link one wins.
func (p *addressPlanner) planWanted(out *plan, specs []item[network.AddressSpecSpec], now *netlink.Snapshot) (taken []located) {
	for _, s := range ranked(specs, func(a, b network.AddressSpecSpec) int { return cmp.Compare(a.LinkName, b.LinkName) }) {
		link, ok := now.Link(s.spec.LinkName)
		if !ok {
			out.say(s.id, network.SpecWaiting, "link "+s.spec.LinkName+" does not exist")

			continue
		}

		want := netlink.Address{LinkIndex: link.Index, Prefix: s.spec.Address, Scope: uint8(s.spec.Scope), Flags: uint32(s.spec.Flags), Priority: s.spec.Priority}

		if i := slices.IndexFunc(taken, func(w located) bool { return want.Same(w.address) }); i >= 0 {
			out.say(s.id, network.SpecConflict, "the address is already set by "+taken[i].id)

			continue
		}

		taken = append(taken, located{s.id, link.Name, want})

		planAddress(out, s.id, want, link, now.Addresses)
	}

	return taken
}

func planAddress(out *plan, id string, want netlink.Address, link netlink.Link, addresses []netlink.Address) {
	i := slices.IndexFunc(addresses, want.Same)

	switch {
	case i < 0 && want.Prefix.Addr().Is6() && link.MTU < netlink.MinMTU6:
		out.say(id, network.SpecWaiting, fmt.Sprintf("link %s has an MTU of %d, and IPv6 needs %d", link.Name, link.MTU, netlink.MinMTU6))
	case i < 0:
		out.add(id, fmt.Sprintf("add address %s to %s", want.Prefix, link.Name), func(k netlink.Kernel) error { return k.AddAddress(want) })
	case want.Priority != 0 && addresses[i].Priority != want.Priority && sameAddress(withPriority(addresses[i], want.Priority), want):
		next := withPriority(addresses[i], want.Priority)

		// In place: the routes of the address stay.
		out.add(id, fmt.Sprintf("address %s on %s: metric %d", want.Prefix, link.Name, want.Priority), func(k netlink.Kernel) error {
			return k.SetAddressPriority(next)
		})
	case !sameAddress(addresses[i], want):
		have := addresses[i]

		out.add(id, fmt.Sprintf("replace address %s on %s by %s", have.Prefix, link.Name, want.Prefix), func(k netlink.Kernel) error {
			if err := k.DeleteAddress(have); err != nil {
				return err
			}

			return k.AddAddress(want)
		})
	case addresses[i].Flags&unix.IFA_F_DADFAILED != 0:
		out.say(id, network.SpecConflict, "another machine on link "+link.Name+" uses the address")
	}
}

func withPriority(a netlink.Address, priority uint32) netlink.Address {
	a.Priority = priority

	return a
}

// sameAddress reports whether the kernel's address is the wanted one. The kernel sets the scope of IPv6 addresses itself.
func sameAddress(have, want netlink.Address) bool {
	return have.Prefix == want.Prefix && have.Priority == want.Priority && nethelpers.AddressFlags(have.Flags^want.Flags)&decided == 0 &&
		(want.Prefix.Addr().Is6() || have.Scope == want.Scope)
}
