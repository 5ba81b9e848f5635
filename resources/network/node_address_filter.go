// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var nodeAddressFilterDefinition = &resource.Definition{
	Type:             "NodeAddressFilters.net.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Include Subnets", JSONPath: "{.includeSubnets}"},
		{Name: "Exclude Subnets", JSONPath: "{.excludeSubnets}"},
	},
}

// NodeAddressFilterSpec filters the sets of node addresses: an address passes if it is in an included subnet, or none is given, and in
// no excluded subnet.
type NodeAddressFilterSpec struct {
	IncludeSubnets []netip.Prefix `yaml:"includeSubnets" protobuf:"1"`
	ExcludeSubnets []netip.Prefix `yaml:"excludeSubnets" protobuf:"2"`
}

// Definition implements resource.Spec.
func (NodeAddressFilterSpec) Definition() *resource.Definition { return nodeAddressFilterDefinition }

// Passes reports whether an address passes the filter.
func (s NodeAddressFilterSpec) Passes(addr netip.Addr) bool {
	included := len(s.IncludeSubnets) == 0

	for _, p := range s.IncludeSubnets {
		included = included || p.Contains(addr)
	}

	for _, p := range s.ExcludeSubnets {
		if p.Contains(addr) {
			return false
		}
	}

	return included
}
