// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// addressStatusController publishes the kernel's addresses.
func addressStatusController(kernel *netlink.Observer) controller.Controller {
	return &observer[network.AddressStatusSpec]{
		declared: declared{name: "network.AddressStatusController", writes: []controller.Output{controller.Out[network.AddressStatusSpec](controller.Shared, network.NamespaceName)}},
		kernel:   kernel,
		what:     netlink.WatchLinks | netlink.WatchAddresses,
		observe: func(now *netlink.Snapshot) map[string]network.AddressStatusSpec {
			names := now.LinkNames()
			out := make(map[string]network.AddressStatusSpec, len(now.Addresses))

			for _, a := range now.Addresses {
				name, ok := names[a.LinkIndex]
				if !ok {
					continue // the link was removed between the two reads
				}

				spec := network.AddressStatusSpec{
					Address: a.Prefix, Local: a.Prefix.Addr(), Broadcast: a.Broadcast, Anycast: a.Anycast, Multicast: a.Multicast,
					LinkIndex: a.LinkIndex, LinkName: name, Family: familyOf(a.Prefix.Addr()),
					Scope: nethelpers.Scope(a.Scope), Flags: nethelpers.AddressFlags(a.Flags), Priority: a.Priority,
				}
				out[network.AddressID(name, a.Prefix)] = spec
			}

			return out
		},
	}
}
