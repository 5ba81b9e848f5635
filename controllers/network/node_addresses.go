// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// addressFacts are what the sets of node addresses follow from.
type addressFacts struct {
	addresses []network.AddressStatusSpec
	// up has the links that are administratively up.
	up      map[string]bool
	filters map[string]network.NodeAddressFilterSpec
	// shared are addresses that this machine has for a time, and then another one.
	shared    []netip.Addr
	algorithm nethelpers.AddressSortAlgorithm
	// before are the earlier sets.
	before map[string][]netip.Prefix
}

// nodeAddresses computes the sets of node addresses, by id.
//
// Current are the present addresses that other machines may use: of global scope, on links that are up, neither temporary nor tentative.
// Routed are those of them that are not on the loopback and not virtual: etcd and the kubelet advertise them. Default is one of current; it
// stays the same while the machine has it. Accumulative are all since boot, and those that the platform translates to the machine's. Each set
// except default also exists after each filter.
func nodeAddresses(f addressFacts) map[string][]netip.Prefix {
	var current, routed, external []netip.Prefix

	for _, a := range f.addresses {
		if a.LinkName == network.ExternalLink {
			external = append(external, a.Address)

			continue
		}

		const unfit = nethelpers.AddressTemporary | nethelpers.AddressTentative | nethelpers.AddressDADFailed | nethelpers.AddressDeprecated

		if ip := a.Address.Addr(); ip == network.HostDNSAddress4 || ip == network.HostDNSAddress6 {
			continue // every machine has them
		}

		if a.Scope >= nethelpers.ScopeLink || a.Flags&unfit != 0 || !f.up[a.LinkName] || a.Address.Addr().IsLoopback() || a.Address.Addr().IsMulticast() {
			continue
		}

		if slices.Contains(current, a.Address) {
			continue
		}

		current = append(current, a.Address)

		if a.LinkName != "lo" && !slices.Contains(f.shared, a.Address.Addr()) {
			routed = append(routed, a.Address)
		}
	}

	sortAddresses(current, f.algorithm)
	sortAddresses(routed, f.algorithm)

	accumulative := union(union(f.before[network.NodeAddressAccumulativeID], current), external)
	sortAddresses(accumulative, f.algorithm)

	sets := map[string][]netip.Prefix{
		network.NodeAddressCurrentID:      current,
		network.NodeAddressRoutedID:       routed,
		network.NodeAddressAccumulativeID: accumulative,
	}

	for id, filter := range f.filters {
		for _, set := range []string{network.NodeAddressCurrentID, network.NodeAddressRoutedID, network.NodeAddressAccumulativeID} {
			sets[network.FilteredNodeAddressID(set, id)] = filtered(sets[set], filter)
		}
	}

	if def := defaultAddress(f.before[network.NodeAddressDefaultID], routed, current); def.IsValid() {
		sets[network.NodeAddressDefaultID] = []netip.Prefix{def}
	}

	return sets
}

// defaultAddress returns the earlier default while the machine has it, else the first address that others can reach.
func defaultAddress(before, routed, current []netip.Prefix) netip.Prefix {
	if len(before) == 1 && slices.Contains(current, before[0]) {
		return before[0]
	}

	return append(slices.Concat(routed, current), netip.Prefix{})[0]
}

func filtered(addresses []netip.Prefix, filter network.NodeAddressFilterSpec) []netip.Prefix {
	var out []netip.Prefix

	for _, p := range addresses {
		if filter.Passes(p.Addr()) {
			out = append(out, p)
		}
	}

	return out
}

// sortAddresses orders addresses. v1 is by address, IPv4 before IPv6. v2 also puts single addresses (/32, /128: mostly virtual and service
// addresses) after those of a network, and within IPv6 unique local addresses after public ones.
func sortAddresses(addresses []netip.Prefix, algorithm nethelpers.AddressSortAlgorithm) {
	rank := func(p netip.Prefix) int {
		if algorithm == nethelpers.AddressSortV1 {
			return 0
		}

		r := 0
		if p.Addr().Is6() && p.Addr().IsPrivate() {
			r = 1
		}

		if p.IsSingleIP() {
			r += 2
		}

		return r
	}

	slices.SortFunc(addresses, func(a, b netip.Prefix) int {
		return cmp.Or(
			cmp.Compare(a.Addr().BitLen(), b.Addr().BitLen()), cmp.Compare(rank(a), rank(b)),
			a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()),
		)
	})
}
