// SPDX-License-Identifier: Apache-2.0

package nethelpers

// RouteFlags are the flags of a route (RTM_F_*).
type RouteFlags uint32

// The route flags.
const (
	RouteNotify      RouteFlags = 1 << 8
	RouteCloned      RouteFlags = 1 << 9
	RouteEqualize    RouteFlags = 1 << 10
	RoutePrefix      RouteFlags = 1 << 11
	RouteLookupTable RouteFlags = 1 << 12
	RouteFIBMatch    RouteFlags = 1 << 13
	RouteOffload     RouteFlags = 1 << 14
	RouteTrap        RouteFlags = 1 << 15
)

var routeFlagsNames = bits[RouteFlags]{
	{RouteNotify, "notify"},
	{RouteCloned, "cloned"},
	{RouteEqualize, "equalize"},
	{RoutePrefix, "prefix"},
	{RouteLookupTable, "lookup_table"},
	{RouteFIBMatch, "fib_match"},
	{RouteOffload, "offload"},
	{RouteTrap, "trap"},
}

// String implements fmt.Stringer.
func (r RouteFlags) String() string { return routeFlagsNames.text(r) }

// MarshalText implements encoding.TextMarshaler.
func (r RouteFlags) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *RouteFlags) UnmarshalText(text []byte) error {
	return routeFlagsNames.parse("route flags", text, r)
}
