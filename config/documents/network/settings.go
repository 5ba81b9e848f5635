// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net/netip"

	"github.com/seed-59268b81/talos/config/document"
)

// LinkSettings are the settings that links of all kinds have.
type LinkSettings struct {
	// Whether the link is up. A link with a document is up unless this says no.
	Up *bool `yaml:"up,omitempty"`
	// The largest packet, in bytes.
	MTU uint32 `yaml:"mtu,omitempty" range:"68,65535"`
	// The link's own addresses, beside those of DHCP and router advertisements.
	Addresses []Address `yaml:"addresses,omitempty"`
	// Routes through the link.
	Routes []Route `yaml:"routes,omitempty"`
	// Whether the link receives multicast.
	Multicast *bool `yaml:"multicast,omitempty"`
}

// Address is an address of a link.
type Address struct {
	// The address with the length of its network's prefix.
	Address netip.Prefix `yaml:"address" required:"true"`
	// The metric of the route that the kernel adds for the network of the address.
	RoutePriority uint32 `yaml:"routePriority,omitempty"`
}

// Route is a route through a link.
type Route struct {
	// The destination; all destinations if it is not set.
	Destination netip.Prefix `yaml:"destination,omitempty"`
	// The next router; none if the destination is on the link.
	Gateway netip.Addr `yaml:"gateway,omitempty"`
	// The source address of packets that take the route.
	Source netip.Addr `yaml:"source,omitempty"`
	// Of several routes to a destination, packets take the one with the lowest metric.
	Metric uint32 `yaml:"metric,omitempty"`
	// The largest packet on the route, in bytes.
	MTU uint32 `yaml:"mtu,omitempty" range:"68,65535"`
	// The routing table: a name (main, local, default, unspec) or a number.
	Table RoutingTable `yaml:"table,omitempty"`
}

// validate reports what is wrong with the settings of a link.
func (s *LinkSettings) validate(r *document.Report, at string) {
	for i, route := range s.Routes {
		route.validate(r, fmt.Sprintf("%sroutes[%d]", at, i))
	}
}

func (route *Route) validate(r *document.Report, at string) {
	if !route.Destination.IsValid() && !route.Gateway.IsValid() {
		r.Wrong(at, "names neither a destination nor a gateway")
	}

	if d := route.Destination; d.IsValid() && d != d.Masked() {
		r.Wrong(at+".destination", "%s has bits set behind its prefix: want %s", d, d.Masked())
	}

	for _, addr := range []struct {
		key  string
		addr netip.Addr
	}{{"gateway", route.Gateway}, {"source", route.Source}} {
		if addr.addr.IsValid() && route.Destination.IsValid() && addr.addr.Is4() != route.Destination.Addr().Is4() {
			r.Wrong(at+"."+addr.key, "%s and the destination %s are not of one family (IPv4 or IPv6)", addr.addr, route.Destination)
		}
	}
}

// index returns the path of an element of a list.
func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
