// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"math"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// ruleLayers proposes the routing rules of the configuration. A rule without addresses is for IPv4 and IPv6.
func ruleLayers(f facts, _ remarks) []network.RoutingRuleSpecSpec {
	var specs []network.RoutingRuleSpecSpec

	for _, r := range f.config.RoutingRules() {
		r.InLink, r.OutLink = f.canonical(r.InLink), f.canonical(r.OutLink) // a rule of the kernel knows no alternative names
		known := cmp.Or(r.Source, r.Destination)

		switch {
		case !known.IsValid():
			specs = append(specs, ruleSpec(r, nethelpers.FamilyInet4), ruleSpec(r, nethelpers.FamilyInet6))
		default:
			specs = append(specs, ruleSpec(r, familyOf(known.Addr())))
		}
	}

	return specs
}

func ruleSpec(r view.RoutingRule, family nethelpers.Family) network.RoutingRuleSpecSpec {
	s := network.RoutingRuleSpecSpec{
		Family: family, Table: nethelpers.RoutingTable(r.Table), Priority: r.Priority, Action: nethelpers.RoutingRuleAction(r.Action),
		IIFName: r.InLink, OIFName: r.OutLink, FwMark: r.Mark, FwMask: r.Mask, Layer: network.LayerConfiguration,
	}
	s.Action = cmp.Or(s.Action, nethelpers.RuleUnicast)

	if s.FwMark != 0 && s.FwMask == 0 {
		s.FwMask = math.MaxUint32 // all bits count
	}

	// The kernel has no prefix of length 0 in a rule: all addresses match.
	if r.Source.Bits() > 0 {
		s.Src = r.Source.Masked()
	}

	if r.Destination.Bits() > 0 {
		s.Dst = r.Destination.Masked()
	}

	return s
}
