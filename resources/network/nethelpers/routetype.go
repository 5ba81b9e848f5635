// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// RouteType is what happens to a packet that takes a route.
type RouteType uint8

// The route types.
const (
	TypeUnspec      RouteType = 0
	TypeUnicast     RouteType = 1
	TypeLocal       RouteType = 2
	TypeBroadcast   RouteType = 3
	TypeAnycast     RouteType = 4
	TypeMulticast   RouteType = 5
	TypeBlackhole   RouteType = 6
	TypeUnreachable RouteType = 7
	TypeProhibit    RouteType = 8
	TypeThrow       RouteType = 9
	TypeNAT         RouteType = 10
	TypeXResolve    RouteType = 11
)

var routeTypeNames = enum.Names[RouteType]{
	TypeUnspec:      "unspec",
	TypeUnicast:     "unicast",
	TypeLocal:       "local",
	TypeBroadcast:   "broadcast",
	TypeAnycast:     "anycast",
	TypeMulticast:   "multicast",
	TypeBlackhole:   "blackhole",
	TypeUnreachable: "unreachable",
	TypeProhibit:    "prohibit",
	TypeThrow:       "throw",
	TypeNAT:         "nat",
	TypeXResolve:    "xresolve",
}

func (r RouteType) String() string               { return routeTypeNames.Text(r) }
func (r RouteType) MarshalText() ([]byte, error) { return routeTypeNames.Marshal(r) }
func (r *RouteType) UnmarshalText(text []byte) error {
	return routeTypeNames.Parse("route type", text, r)
}
