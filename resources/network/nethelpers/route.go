// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// RoutingTable is the number of a routing table; the wire knows 0 to 255.
type RoutingTable uint32

// The routing tables that are used here.
const (
	TableMain  RoutingTable = 254
	TableLocal RoutingTable = 255
)

var routingTableNames = enum.Names[RoutingTable]{0: "unspec", 253: "default", TableMain: "main", TableLocal: "local"}

func (r RoutingTable) String() string               { return routingTableNames.Text(r) }
func (r RoutingTable) MarshalText() ([]byte, error) { return routingTableNames.Marshal(r) }
func (r *RoutingTable) UnmarshalText(text []byte) error {
	return routingTableNames.Parse("routing table", text, r)
}

// RouteType is what happens to a packet that takes a route.
type RouteType uint8

// The route types that are used here.
const (
	// TypeUnicast sends the packet to one destination.
	TypeUnicast RouteType = 1
	// TypeLocal delivers the packet to the machine.
	TypeLocal RouteType = 2
	// TypeBlackhole drops the packet.
	TypeBlackhole RouteType = 6
	// TypeUnreachable and TypeProhibit drop the packet and tell its sender.
	TypeUnreachable RouteType = 7
	TypeProhibit    RouteType = 8
	// TypeThrow goes on with the next routing rule.
	TypeThrow RouteType = 9
)

var routeTypeNames = enum.Of[RouteType](
	"unspec", "unicast", "local", "broadcast", "anycast", "multicast", "blackhole", "unreachable", "prohibit", "throw", "nat", "xresolve",
)

func (r RouteType) String() string               { return routeTypeNames.Text(r) }
func (r RouteType) MarshalText() ([]byte, error) { return routeTypeNames.Marshal(r) }
func (r *RouteType) UnmarshalText(text []byte) error {
	return routeTypeNames.Parse("route type", text, r)
}

// RouteProtocol is the program that created a route (RTPROT_*).
type RouteProtocol uint8

// The route protocols that are used here.
const (
	ProtocolStatic RouteProtocol = 4
	ProtocolDHCP   RouteProtocol = 16
)

var routeProtocolNames = enum.Names[RouteProtocol]{
	0: "unspec", 1: "redirect", 2: "kernel", 3: "boot", ProtocolStatic: "static", 9: "ra", 10: "mrt", 11: "zebra", 12: "bird",
	13: "dnrouted", 14: "xorp", 15: "ntk", ProtocolDHCP: "dhcp", 17: "mrtd", 18: "keepalived", 42: "babel", 99: "openr",
	186: "bgp", 187: "isis", 188: "ospf", 189: "rip", 192: "eigrp",
}

func (r RouteProtocol) String() string               { return routeProtocolNames.Text(r) }
func (r RouteProtocol) MarshalText() ([]byte, error) { return routeProtocolNames.Marshal(r) }
func (r *RouteProtocol) UnmarshalText(text []byte) error {
	return routeProtocolNames.Parse("route protocol", text, r)
}

// RouteFlags are the flags of a route (RTM_F_*, and without names RTNH_F_*).
type RouteFlags uint32

// RouteOnLink means that the gateway is on the link although no route leads to it (RTNH_F_ONLINK).
const RouteOnLink RouteFlags = 4

var routeFlagsNames = bits[RouteFlags]{8: "notify", "cloned", "equalize", "prefix", "lookup_table", "fib_match", "offload", "trap"}

func (r RouteFlags) String() string               { return routeFlagsNames.text(r) }
func (r RouteFlags) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
func (r *RouteFlags) UnmarshalText(text []byte) error {
	return routeFlagsNames.parse("route flags", text, r)
}
