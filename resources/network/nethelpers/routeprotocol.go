// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// RouteProtocol is who made a route.
type RouteProtocol uint8

// The route protocols.
const (
	ProtocolUnspec     RouteProtocol = 0
	ProtocolRedirect   RouteProtocol = 1
	ProtocolKernel     RouteProtocol = 2
	ProtocolBoot       RouteProtocol = 3
	ProtocolStatic     RouteProtocol = 4
	ProtocolRA         RouteProtocol = 9
	ProtocolMRT        RouteProtocol = 10
	ProtocolZebra      RouteProtocol = 11
	ProtocolBird       RouteProtocol = 12
	ProtocolDNRouted   RouteProtocol = 13
	ProtocolXorp       RouteProtocol = 14
	ProtocolNTK        RouteProtocol = 15
	ProtocolDHCP       RouteProtocol = 16
	ProtocolMRTD       RouteProtocol = 17
	ProtocolKeepalived RouteProtocol = 18
	ProtocolBabel      RouteProtocol = 42
	ProtocolOpenR      RouteProtocol = 99
	ProtocolBGP        RouteProtocol = 186
	ProtocolISIS       RouteProtocol = 187
	ProtocolOSPF       RouteProtocol = 188
	ProtocolRIP        RouteProtocol = 189
	ProtocolEIGRP      RouteProtocol = 192
)

var routeProtocolNames = enum.Names[RouteProtocol]{
	ProtocolUnspec:     "unspec",
	ProtocolRedirect:   "redirect",
	ProtocolKernel:     "kernel",
	ProtocolBoot:       "boot",
	ProtocolStatic:     "static",
	ProtocolRA:         "ra",
	ProtocolMRT:        "mrt",
	ProtocolZebra:      "zebra",
	ProtocolBird:       "bird",
	ProtocolDNRouted:   "dnrouted",
	ProtocolXorp:       "xorp",
	ProtocolNTK:        "ntk",
	ProtocolDHCP:       "dhcp",
	ProtocolMRTD:       "mrtd",
	ProtocolKeepalived: "keepalived",
	ProtocolBabel:      "babel",
	ProtocolOpenR:      "openr",
	ProtocolBGP:        "bgp",
	ProtocolISIS:       "isis",
	ProtocolOSPF:       "ospf",
	ProtocolRIP:        "rip",
	ProtocolEIGRP:      "eigrp",
}

func (r RouteProtocol) String() string               { return routeProtocolNames.Text(r) }
func (r RouteProtocol) MarshalText() ([]byte, error) { return routeProtocolNames.Marshal(r) }
func (r *RouteProtocol) UnmarshalText(text []byte) error {
	return routeProtocolNames.Parse("route protocol", text, r)
}
