// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
)

// vipLayers proposes the operators of virtual addresses.
func vipLayers(f facts, _ remarks) []network.OperatorSpecSpec {
	var specs []network.OperatorSpecSpec

	add := func(link string, v view.VIP) {
		specs = append(specs, network.OperatorSpecSpec{
			Operator: network.OperatorVIP, LinkName: link, RequireUp: true, Layer: network.LayerConfiguration,
			VIP: network.VIPOperatorSpec{
				IP: v.Address, GratuitousARP: !v.Cloud(),
				HCloud: network.VIPHCloudSpec{APIToken: v.HCloud}, EquinixMetal: network.VIPEquinixMetalSpec{APIToken: v.EquinixMetal},
			},
		})
	}

	for _, d := range f.settings(f.devices(nil)) {
		if d.VIP.Address.IsValid() {
			add(d.name, d.VIP)
		}
	}

	for _, v := range f.config.VIPs() {
		add(f.canonical(v.Link), v)
	}

	return specs
}
