// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var routeStatusDefinition = domain.Alias("route", "routes").Type("RouteStatuses",
	"Destination={.dst}", "Gateway={.gateway}", "Link={.outLinkName}", "Metric={.priority}")

// RouteStatusSpec is a route as the kernel has it.
type RouteStatusSpec struct {
	Family       nethelpers.Family        `yaml:"family" protobuf:"1"`
	Destination  netip.Prefix             `yaml:"dst" protobuf:"2"`
	Source       netip.Addr               `yaml:"src" protobuf:"3"`
	Gateway      netip.Addr               `yaml:"gateway" protobuf:"4"`
	OutLinkIndex uint32                   `yaml:"outLinkIndex,omitempty" protobuf:"5"`
	OutLinkName  string                   `yaml:"outLinkName,omitempty" protobuf:"6"`
	Table        nethelpers.RoutingTable  `yaml:"table" protobuf:"7"`
	Priority     uint32                   `yaml:"priority" protobuf:"8"`
	Scope        nethelpers.Scope         `yaml:"scope" protobuf:"9"`
	Type         nethelpers.RouteType     `yaml:"type" protobuf:"10"`
	Flags        nethelpers.RouteFlags    `yaml:"flags" protobuf:"11"`
	Protocol     nethelpers.RouteProtocol `yaml:"protocol" protobuf:"12"`
	MTU          uint32                   `yaml:"mtu,omitempty" protobuf:"13"`
	NextHops     []RouteNextHop           `yaml:"nextHops,omitempty" protobuf:"14"`
}

// Definition implements resource.Spec.
func (RouteStatusSpec) Definition() *resource.Definition { return routeStatusDefinition }

// IsDefault reports whether the route is a default route of IPv4 or IPv6, with or without a gateway. The kernel's own unreachable routes
// are not.
func (s RouteStatusSpec) IsDefault() bool {
	return !s.Destination.IsValid() && s.Type == nethelpers.TypeUnicast && s.Table == nethelpers.TableMain
}

// RouteNextHop is one of several next hops of a route.
type RouteNextHop struct {
	Gateway     netip.Addr `yaml:"gateway" protobuf:"1"`
	OutLinkName string     `yaml:"outLinkName" protobuf:"2"`
	Weight      uint32     `yaml:"weight" protobuf:"3"`
}
