// SPDX-License-Identifier: Apache-2.0

// Package packetfilter translates NfTablesChains into the table of the kernel's packet filter.
//
// A rule about addresses becomes one rule for IPv4 and one for IPv6. Addresses, ports, links and types of ICMP become named sets, so that
// another address changes an element of a set and not the rules. A rule that can match no packet is left out, and so is a condition that
// every packet meets: neither needs a set.
package packetfilter

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/google/nftables/expr"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/nft"
)

// policyDrop is the last rule of a chain with the policy drop. The kernel has the policy accept for all chains: it changes a policy later than
// the rules, so a chain whose policy becomes accept would drop what its new rules do not name, for a moment.
const policyDrop = "drop"

// TableName is the name of the machine's table.
const TableName = "talos"

// Table returns the table of chains by their names.
func Table(chains map[string]network.NfTablesChainSpec) (nft.Table, error) {
	var t nft.Table

	for _, name := range slices.Sorted(maps.Keys(chains)) {
		spec := chains[name]
		chain := nft.Chain{
			Name: name, Type: spec.Type, Hook: uint32(spec.Hook), Priority: int32(spec.Priority), Accept: true,
		}

		var sets []nft.Set

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
				sets = append(sets, b.sets...)
			}
		}

		if spec.Policy == nethelpers.VerdictDrop {
			chain.Rules = append(chain.Rules, nft.Rule{Text: policyDrop, Exprs: []expr.Any{&expr.Verdict{Kind: expr.VerdictDrop}}})
		}

		t.Chains = append(t.Chains, chain)
		t.Sets = append(t.Sets, renamed(chain, sets)...)
	}

	// The rules of both families share the sets of ports and links.
	slices.SortStableFunc(t.Sets, func(a, b nft.Set) int { return compare(a.Name, b.Name) })
	t.Sets = slices.CompactFunc(t.Sets, func(a, b nft.Set) bool { return a.Name == b.Name })

	return t, nil
}

// renamed returns the sets of a chain with names that depend on all of its rules, and names them so in the rules. If other rules come, they
// get sets of their own: a packet that is still at the old rules must not see a set whose content is that of another rule by now.
func renamed(c nft.Chain, sets []nft.Set) []nft.Set {
	h := sha256.New()
	fmt.Fprintln(h, c.Type, c.Hook, c.Priority, c.Accept)

	for _, r := range c.Rules {
		fmt.Fprintln(h, r.Text)
	}

	suffix := fmt.Sprintf("_%x", h.Sum(nil)[:4])

	for i := range sets {
		sets[i].Name += suffix
	}

	for _, r := range c.Rules {
		for _, e := range r.Exprs {
			if l, ok := e.(*expr.Lookup); ok {
				l.SetName += suffix
			}
		}
	}

	return sets
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
