// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"slices"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// inOrder returns the wanted links in the order of their changes, of each layer:
//
//   - A link's own name has precedence over alternative names.
//   - Slaves come before their bonds. An LACP bond that is up when it gets its first slave carries no packets for eight seconds; one that
//     is set up with slaves, for a tenth of a second (AD_AGGREGATOR_SELECTION_TIMER in drivers/net/bonding/bond_3ad.c, bond_open in
//     bond_main.c).
//   - The first slave of a bond gives its hardware address to the bond.
//   - A VLAN can be up only when the link below it is.
func inOrder(wanted []item[network.LinkSpecSpec], now *netlink.Snapshot) []item[network.LinkSpecSpec] {
	alternative := func(name string) bool { l, ok := now.Link(name); return ok && l.Name != name }

	depth := depths(wanted)

	return ranked(wanted, func(a, b network.LinkSpecSpec) int {
		return cmp.Or(compareBool(alternative(a.Name), alternative(b.Name)),
			compareBool(a.BondSlave.MasterName == "", b.BondSlave.MasterName == ""), cmp.Compare(a.BondSlave.MasterName, b.BondSlave.MasterName),
			cmp.Compare(a.BondSlave.SlaveIndex, b.BondSlave.SlaveIndex), cmp.Compare(depth(a.Name), depth(b.Name)), cmp.Compare(a.Name, b.Name))
	})
}

// parentsFirst returns leaving links with those first that others depend on: the kernel removes all VLANs of a link together with it, in one
// go. To remove them one by one takes it some ten milliseconds for each.
func parentsFirst(leaving []item[network.LinkSpecSpec]) []item[network.LinkSpecSpec] {
	depth := depths(leaving)
	out := slices.Clone(leaving)
	slices.SortStableFunc(out, func(a, b item[network.LinkSpecSpec]) int { return cmp.Compare(depth(a.spec.Name), depth(b.spec.Name)) })

	return out
}

// depths returns a function that says how many of the links are below one.
func depths(links []item[network.LinkSpecSpec]) func(name string) int {
	parents := make(map[string]string, len(links))
	for _, s := range links {
		parents[s.spec.Name] = s.spec.ParentName
	}

	return func(name string) (n int) {
		for parents[name] != "" && n < len(parents) { // a loop ends too
			name = parents[name]
			n++
		}

		return n
	}
}
