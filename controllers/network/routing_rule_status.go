// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// routingRuleStatusController publishes the kernel's routing rules. The second and later rules of a priority have a number behind it.
func routingRuleStatusController(kernel *netlink.Observer) controller.Controller {
	return &observer[network.RoutingRuleStatusSpec]{
		declared: declared{name: "network.RoutingRuleStatusController", writes: []controller.Output{controller.Out[network.RoutingRuleStatusSpec](controller.Exclusive)}},
		kernel:   kernel,
		what:     netlink.WatchRules,
		observe: func(now *netlink.Snapshot) map[string]network.RoutingRuleStatusSpec {
			out := make(map[string]network.RoutingRuleStatusSpec, len(now.Rules))
			seen := map[string]int{}

			for _, r := range now.Rules {
				id := network.RoutingRuleID(nethelpers.Family(r.Family), r.Priority)
				seen[id]++

				if n := seen[id]; n > 1 {
					id += fmt.Sprintf("/%d", n)
				}

				out[id] = network.RoutingRuleStatusSpec{
					Family: nethelpers.Family(r.Family), Src: r.Source, Dst: r.Destination, Table: nethelpers.RoutingTable(r.Table),
					Priority: r.Priority, Action: nethelpers.RoutingRuleAction(r.Action), IIFName: r.InLink, OIFName: r.OutLink,
					FwMark: r.Mark, FwMask: r.Mask,
				}
			}

			return out
		},
	}
}
