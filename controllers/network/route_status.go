// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// routeStatusController publishes the kernel's routes.
func routeStatusController(kernel *netlink.Observer) controller.Controller {
	return &observer[network.RouteStatusSpec]{
		declared: declared{name: "network.RouteStatusController", writes: []controller.Output{controller.Out[network.RouteStatusSpec](controller.Exclusive)}},
		kernel:   kernel,
		what:     netlink.WatchLinks | netlink.WatchRoutes,
		observe: func(now *netlink.Snapshot) map[string]network.RouteStatusSpec {
			names := now.LinkNames()
			out := make(map[string]network.RouteStatusSpec, len(now.Routes))

			for _, r := range now.Routes {
				id, spec := routeStatus(r, names)
				out[id] = spec
			}

			return out
		},
		route: func(r netlink.Route, now *netlink.Snapshot) (string, network.RouteStatusSpec) {
			return routeStatus(r, now.LinkNames())
		},
	}
}

func routeStatus(r netlink.Route, names map[uint32]string) (string, network.RouteStatusSpec) {
	spec := network.RouteStatusSpec{
		Family: nethelpers.Family(r.Family), Destination: r.Destination, Source: r.Source, Gateway: r.Gateway,
		OutLinkIndex: r.LinkIndex, OutLinkName: names[r.LinkIndex], Table: nethelpers.RoutingTable(r.Table), Priority: r.Priority,
		Scope: nethelpers.Scope(r.Scope), Type: nethelpers.RouteType(r.Type), Flags: nethelpers.RouteFlags(r.Flags),
		Protocol: nethelpers.RouteProtocol(r.Protocol), MTU: r.MTU,
	}

	for _, hop := range r.NextHops {
		spec.NextHops = append(spec.NextHops, network.RouteNextHop{Gateway: hop.Gateway, OutLinkName: names[hop.LinkIndex], Weight: hop.Weight})
	}

	return network.RouteID(spec.Table, spec.OutLinkName, spec.Family, spec.Gateway, spec.Destination, spec.Priority), spec
}
