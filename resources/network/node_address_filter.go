// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var nodeAddressFilterDefinition = domain.Type("NodeAddressFilters",
	"Include Subnets={.includeSubnets}", "Exclude Subnets={.excludeSubnets}")

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
	in := func(p netip.Prefix) bool { return p.Contains(addr) }

	return (len(s.IncludeSubnets) == 0 || slices.ContainsFunc(s.IncludeSubnets, in)) && !slices.ContainsFunc(s.ExcludeSubnets, in)
}
