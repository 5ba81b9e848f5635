// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// RoutingTable is the number of a routing table; the wire knows 0 to 255.
type RoutingTable uint32

// The routing tables.
const (
	TableUnspec  RoutingTable = 0
	TableDefault RoutingTable = 253
	TableMain    RoutingTable = 254
	TableLocal   RoutingTable = 255
)

var routingTableNames = enum.Names[RoutingTable]{
	TableUnspec:  "unspec",
	TableDefault: "default",
	TableMain:    "main",
	TableLocal:   "local",
}

func (r RoutingTable) String() string               { return routingTableNames.Text(r) }
func (r RoutingTable) MarshalText() ([]byte, error) { return routingTableNames.Marshal(r) }
func (r *RoutingTable) UnmarshalText(text []byte) error {
	return routingTableNames.Parse("routing table", text, r)
}
