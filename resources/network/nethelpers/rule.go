// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// RoutingRuleAction is what a routing rule does with packets (FR_ACT_*).
type RoutingRuleAction uint8

// RuleUnicast looks into a routing table.
const RuleUnicast RoutingRuleAction = 1

var routingRuleActionNames = enum.Names[RoutingRuleAction]{
	0: "unspec", RuleUnicast: "unicast", 2: "goto", 3: "nop", 6: "blackhole", 7: "unreachable", 8: "prohibit",
}

func (r RoutingRuleAction) String() string               { return routingRuleActionNames.Text(r) }
func (r RoutingRuleAction) MarshalText() ([]byte, error) { return routingRuleActionNames.Marshal(r) }
func (r *RoutingRuleAction) UnmarshalText(text []byte) error {
	return routingRuleActionNames.Parse("routing rule action", text, r)
}
