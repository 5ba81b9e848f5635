// SPDX-License-Identifier: Apache-2.0

package nethelpers

// RoutingTable is the number of a routing table; the wire knows 0 to 255.
type RoutingTable uint32

// The routing tables.
const (
	TableUnspec  RoutingTable = 0
	TableDefault RoutingTable = 253
	TableMain    RoutingTable = 254
	TableLocal   RoutingTable = 255
)

var routingTableNames = names[RoutingTable]{
	TableUnspec:  "unspec",
	TableDefault: "default",
	TableMain:    "main",
	TableLocal:   "local",
}

// String implements fmt.Stringer.
func (r RoutingTable) String() string { return routingTableNames.text(r) }

// MarshalText implements encoding.TextMarshaler.
func (r RoutingTable) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *RoutingTable) UnmarshalText(text []byte) error {
	return routingTableNames.parse("routing table", text, r)
}
