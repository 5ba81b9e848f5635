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

// plan adds before it removes, so that a change of address does not take the link's routes away between the two.
func (p *addressPlanner) plan(specs held[network.AddressSpecSpec], now *netlink.Snapshot) plan {
	out := newPlan()
	wanted := p.planWanted(&out, specs.wanted, now)
	leaving := map[string]time.Time{}

	p.links = noteLinks(p.links, specs, now, func(s network.AddressSpecSpec) string { return s.LinkName })

	for _, s := range specs.leaving {
		link, ok := p.links.link(now, s.id)
		if !ok {
			continue // it was removed with its link
		}

		a := netlink.Address{LinkIndex: link.Index, Prefix: s.spec.Address}

		i := slices.IndexFunc(now.Addresses, func(have netlink.Address) bool { return have.LinkIndex == a.LinkIndex && have.Prefix == a.Prefix })
		if i < 0 || slices.ContainsFunc(wanted, a.Same) {
			continue
		}

		since, ok := p.leavingSince[s.id]
		if !ok {
			since = time.Now()
		}

		if left := time.Until(since.Add(sourcePatience)); left > 0 && isSource(now.Routes, a.Prefix.Addr()) {
			out.staying[s.id], leaving[s.id], out.again = true, since, left

			continue
		}

		have := now.Addresses[i]

		out.add(s.id, fmt.Sprintf("remove address %s from %s", a.Prefix, link.Name), func(k netlink.Kernel) error { return k.DeleteAddress(have) })
	}

	p.leavingSince = leaving
	p.routes.Store(len(leaving) > 0)

	return out
}

// isSource reports whether a route of this system has the address as its source.
func isSource(routes []netlink.Route, a netip.Addr) bool {
	return slices.ContainsFunc(routes, func(r netlink.Route) bool {
		return r.Source == a && (r.Protocol == unix.RTPROT_DHCP || r.Protocol == unix.RTPROT_STATIC)
	})
}

// planWanted plans the wanted addresses, and returns them as the kernel's. Of several specs of the same address on a link one wins.
func (p *addressPlanner) planWanted(out *plan, specs []item[network.AddressSpecSpec], now *netlink.Snapshot) []netlink.Address {
	var (
		taken  []netlink.Address
		owners []string
	)

	for _, s := range ranked(specs, func(a, b network.AddressSpecSpec) int { return cmp.Compare(a.LinkName, b.LinkName) }) {
		link, ok := now.Link(s.spec.LinkName)
		if !ok {
			out.say(s.id, network.SpecWaiting, "link "+s.spec.LinkName+" does not exist")

			continue
		}

		want := netlink.Address{LinkIndex: link.Index, Prefix: s.spec.Address, Scope: uint8(s.spec.Scope), Flags: uint32(s.spec.Flags), Priority: s.spec.Priority}

		if i := slices.IndexFunc(taken, want.Same); i >= 0 {
			out.say(s.id, network.SpecConflict, "the address is already set by "+owners[i])

			continue
		}

		taken, owners = append(taken, want), append(owners, s.id)

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
