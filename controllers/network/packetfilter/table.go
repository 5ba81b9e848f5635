// SPDX-License-Identifier: Apache-2.0

// Package packetfilter translates NfTablesChains into the table of the kernel's packet filter.
//
// A rule about addresses becomes one rule for IPv4 and one for IPv6. Addresses, ports, links and types of ICMP become named sets, so that
// another address changes an element of a set and not the rules. A rule that can match no packet is left out, and so is a condition that
// every packet meets: neither needs a set.
package packetfilter

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/nft"
)

// TableName is the name of the machine's table.
const TableName = "talos"

// Table returns the table of chains by their names.
func Table(chains map[string]network.NfTablesChainSpec) (nft.Table, error) {
	var t nft.Table

	for _, name := range slices.Sorted(maps.Keys(chains)) {
		spec := chains[name]
		chain := nft.Chain{
			Name: name, Type: spec.Type, Hook: uint32(spec.Hook), Priority: int32(spec.Priority), Accept: spec.Policy == nethelpers.VerdictAccept,
		}

		for i, r := range spec.Rules {
			for _, family := range families(r) {
				b := builder{set: fmt.Sprintf("%s_%d_", name, i), family: family}

				if err := b.rule(r); err != nil {
					return nft.Table{}, fmt.Errorf("chain %s: rule %d: %w", name, i, err)
				}

				if b.never {
					continue
				}

				chain.Rules = append(chain.Rules, nft.Rule{Text: b.text, Exprs: b.exprs})
				t.Sets = append(t.Sets, b.sets...)
			}
		}

		t.Chains = append(t.Chains, chain)
	}

	// The rules of both families share the sets of ports and links.
	slices.SortStableFunc(t.Sets, func(a, b nft.Set) int { return compare(a.Name, b.Name) })
	t.Sets = slices.CompactFunc(t.Sets, func(a, b nft.Set) bool { return a.Name == b.Name })

	return t, nil
}

// family is the family of the packets of a rule.
type family int

const (
	anyFamily family = 0
	ip4       family = 4
	ip6       family = 6
)

// families returns the families that a rule needs a rule of the kernel for.
func families(r network.NfTablesRule) []family {
	if l := r.MatchLayer4; l != nil {
		switch l.Protocol {
		case nethelpers.ProtocolICMP:
			return []family{ip4}
		case nethelpers.ProtocolICMPv6:
			return []family{ip6}
		}
	}

	if r.MatchSourceAddress != nil || r.MatchDestinationAddress != nil || r.ClampMSS != nil {
		return []family{ip4, ip6}
	}

	return []family{anyFamily}
}
