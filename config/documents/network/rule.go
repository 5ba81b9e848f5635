// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"strconv"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// RoutingRuleConfig chooses the routing table of packets. Its name is the priority of the rule: lower ones come first.
type RoutingRuleConfig struct {
	document.Named `yaml:",inline"`
	// Source addresses of the packets.
	Src netip.Prefix `yaml:"src,omitempty"`
	// Destination addresses of the packets.
	Dst netip.Prefix `yaml:"dst,omitempty"`
	// The routing table: a name (main, local, default, unspec) or a number.
	Table RoutingTable `yaml:"table,omitempty"`
	// What the rule does, as the kernel numbers it (FR_ACT_* in fib_rules.h): 1 looks into the table, 6 drops, 7 and 8 refuse.
	Action uint8 `yaml:"action,omitempty" range:"1,8"`
	// The link that the packets come from.
	IIFName value.LinkName `yaml:"iifName,omitempty"`
	// The link that the packets are to leave by.
	OIFName value.LinkName `yaml:"oifName,omitempty"`
	// The mark of the packets.
	FwMark uint32 `yaml:"fwMark,omitempty"`
	// The bits of the mark that count.
	FwMask uint32 `yaml:"fwMask,omitempty"`
}

var routingRule = document.Of[RoutingRuleConfig]("RoutingRuleConfig", `apiVersion: v1alpha1
kind: RoutingRuleConfig
name: "1000"
src: 198.51.100.0/24
table: "123"
`)

// maxRulePriority is behind the last rule of a user: 32766 is the rule of the main table.
const maxRulePriority = 32765

// Validate implements document.Validator.
func (c *RoutingRuleConfig) Validate(r *document.Report) {
	if n, err := strconv.Atoi(c.DocName); err != nil || n < 1 || n > maxRulePriority || strconv.Itoa(n) != c.DocName {
		r.Wrong("name", "%q is not a priority: want a number from 1 to %d", c.DocName, maxRulePriority)
	}

	if c.Table == 0 && c.Action <= 1 {
		r.Wrong("table", "is missing: the rule does not say where to look")
	}

	if c.Src.IsValid() && c.Dst.IsValid() && c.Src.Addr().Is4() != c.Dst.Addr().Is4() {
		r.Wrong("dst", "%s and the source %s are not of one family (IPv4 or IPv6)", c.Dst, c.Src)
	}

	if c.FwMask != 0 && c.FwMark&^c.FwMask != 0 {
		r.Wrong("fwMark", "has bits that fwMask leaves out: no packet has such a mark")
	}
}
