// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// routeLayers proposes routes: the gateway of ip= and those of the configuration.
func routeLayers(f facts, said remarks) []network.RouteSpecSpec {
	var specs []network.RouteSpecSpec

	for _, ip := range f.cmdline.ips {
		if name := f.device(ip); name != "" && ip.Gateway.IsValid() && !ip.Gateway.IsUnspecified() {
			specs = append(specs, routeSpec(name, netip.Prefix{}, ip.Gateway, network.DefaultRouteMetric, network.LayerCmdline))
		}
	}

	for _, l := range f.settings(f.devices(nil)) {
		for _, r := range l.Routes {
			if !r.Destination.IsValid() && !r.Gateway.IsValid() {
				said.leftOut(l.At+".routes", fmt.Errorf("link %s: a route needs a destination or a gateway", l.name))

				continue
			}

			spec := routeSpec(l.name, r.Destination, r.Gateway, cmp.Or(r.Metric, network.DefaultRouteMetric), network.LayerConfiguration)
			spec.Source, spec.MTU = r.Source, r.MTU
			spec.Table = cmp.Or(nethelpers.RoutingTable(r.Table), nethelpers.TableMain)
			specs = append(specs, spec)
		}
	}

	for _, b := range f.config.BlackholeRoutes() {
		spec := routeSpec("", b.Destination, netip.Addr{}, cmp.Or(b.Metric, network.DefaultRouteMetric), network.LayerConfiguration)
		spec.Type, spec.Scope = nethelpers.TypeBlackhole, nethelpers.ScopeGlobal
		specs = append(specs, spec)
	}

	return specs
}

// routeSpec returns a static route in the form in which the kernel returns it: without host bits in the destination, a default route
// without a destination, an IPv4 route without a gateway with link scope.
func routeSpec(link string, destination netip.Prefix, gateway netip.Addr, metric uint32, layer network.ConfigLayer) network.RouteSpecSpec {
	spec := network.RouteSpecSpec{
		Destination: destination, Gateway: gateway, OutLinkName: link, Priority: metric, Layer: layer,
		Table: nethelpers.TableMain, Type: nethelpers.TypeUnicast, Protocol: nethelpers.ProtocolStatic,
	}

	known := gateway
	if destination.IsValid() {
		known = destination.Addr()
		spec.Destination = destination.Masked()
	}

	spec.Family = familyOf(known)

	if spec.Destination.Bits() == 0 {
		spec.Destination = netip.Prefix{}
	}

	if gateway.IsUnspecified() {
		spec.Gateway, gateway = netip.Addr{}, netip.Addr{}
	}

	if !gateway.IsValid() && spec.Family == nethelpers.FamilyInet4 {
		spec.Scope = nethelpers.ScopeLink
	}

	return spec
}
