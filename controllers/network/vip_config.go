// SPDX-License-Identifier: Apache-2.0

package network

import (
	"log/slog"
	"net/netip"

	"github.com/seed-59268b81/talos/resources/network"
)

// vipLayers proposes the operators of virtual addresses.
func vipLayers(f facts, log *slog.Logger) ([]network.OperatorSpecSpec, error) {
	var specs []network.OperatorSpecSpec

	add := func(link string, addr netip.Addr) {
		specs = append(specs, network.OperatorSpecSpec{
			Operator: network.OperatorVIP, LinkName: link, RequireUp: true, Layer: network.LayerConfiguration,
			VIP: network.VIPOperatorSpec{IP: addr, GratuitousARP: true},
		})
	}

	for _, d := range f.settings(f.devices(log)) {
		if d.VIP.IsValid() {
			add(d.name, d.VIP)
		}
	}

	for _, v := range f.config.VIPs() {
		add(f.canonical(v.Link), v.Address)
	}

	return specs, nil
}
