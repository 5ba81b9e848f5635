// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"strconv"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var routeSpecDefinition = domain.Type("RouteSpecs")

// RouteSpecSpec is a wanted route. The zero destination is the default route.
type RouteSpecSpec struct {
	Family      nethelpers.Family        `yaml:"family" protobuf:"1"`
	Destination netip.Prefix             `yaml:"dst" protobuf:"2"`
	Source      netip.Addr               `yaml:"src" protobuf:"3"`
	Gateway     netip.Addr               `yaml:"gateway" protobuf:"4"`
	OutLinkName string                   `yaml:"outLinkName,omitempty" protobuf:"5"`
	Table       nethelpers.RoutingTable  `yaml:"table" protobuf:"6"`
	Priority    uint32                   `yaml:"priority,omitempty" protobuf:"7"`
	Scope       nethelpers.Scope         `yaml:"scope" protobuf:"8"`
	Type        nethelpers.RouteType     `yaml:"type" protobuf:"9"`
	Flags       nethelpers.RouteFlags    `yaml:"flags" protobuf:"10"`
	Protocol    nethelpers.RouteProtocol `yaml:"protocol" protobuf:"11"`
	Layer       ConfigLayer              `yaml:"layer" protobuf:"12"`
	MTU         uint32                   `yaml:"mtu,omitempty" protobuf:"13"`
	// NextHops are several ways, in place of Gateway and OutLinkName.
	NextHops []RouteNextHop `yaml:"nextHops,omitempty" protobuf:"14"`
}

// Definition implements resource.Spec.
func (RouteSpecSpec) Definition() *resource.Definition { return routeSpecDefinition }

// IsDefault is RouteStatusSpec.IsDefault for what is wanted.
func (s RouteSpecSpec) IsDefault() bool {
	return RouteStatusSpec{Destination: s.Destination, Type: s.Type, Table: s.Table}.IsDefault()
}

// ID is the identity of the spec in namespace network.
func (s RouteSpecSpec) ID() string {
	return RouteID(s.Table, s.OutLinkName, s.Family, s.Gateway, s.Destination, s.Priority)
}

// ConfigLayer is the layer that the spec comes from.
func (s RouteSpecSpec) ConfigLayer() ConfigLayer { return s.Layer }

// RouteID returns the id of a route: family/gateway/destination/metric. For IPv6 the link comes first, because each link has the same
// local networks; before it comes the table, unless it is the main one.
func RouteID(table nethelpers.RoutingTable, link string, family nethelpers.Family, gateway netip.Addr, destination netip.Prefix, priority uint32) string {
	var prefix, gw, dst string

	if table != nethelpers.TableMain {
		prefix = table.String() + "/"
	}

	if family == nethelpers.FamilyInet6 && link != "" {
		prefix += link + "/"
	}

	if gateway.IsValid() {
		gw = gateway.String()
	}

	if destination.IsValid() {
		dst = destination.String()
	}

	return prefix + family.String() + "/" + gw + "/" + dst + "/" + strconv.FormatUint(uint64(priority), 10)
}

// Metrics of default routes: the lower wins.
const (
	DefaultRouteMetric = 1024
)
