// SPDX-License-Identifier: Apache-2.0

package network

import (
	"log/slog"
	"net/netip"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
)

// vipLayers proposes the operators of virtual addresses.
func vipLayers(f facts, log *slog.Logger) ([]network.OperatorSpecSpec, error) {
	var specs []network.OperatorSpecSpec

	add := func(link string, addr netip.Addr, ok bool) {
		if ok {
			specs = append(specs, network.OperatorSpecSpec{
				Operator: network.OperatorVIP, LinkName: link, RequireUp: true, Layer: network.LayerConfiguration,
				VIP: network.VIPOperatorSpec{IP: addr, GratuitousARP: true},
			})
		}
	}

	// The network of a cloud carries no announcements.
	addCloud := func(link string, v view.CloudVIP, ok bool) {
		if ok {
			specs = append(specs, network.OperatorSpecSpec{
				Operator: network.OperatorVIP, LinkName: link, RequireUp: true, Layer: network.LayerConfiguration,
				VIP: network.VIPOperatorSpec{
					IP: v.Address, HCloud: network.VIPHCloudSpec{APIToken: v.HCloud}, EquinixMetal: network.VIPEquinixMetalSpec{APIToken: v.EquinixMetal},
				},
			})
		}
	}

	devices := f.devices(log)

	for _, d := range devices {
		if f.ignored(devices, d.name) {
			continue
		}

		addr, ok := view.Layer2VIP(d.VIP)
		add(d.name, addr, ok)

		cloud, ok := view.CloudVIPOf(d.VIP)
		addCloud(d.name, cloud, ok)

		for _, vlan := range d.VLANs {
			addr, ok := view.Layer2VIP(vlan.VIP)
			add(vlanName(d.name, vlan.ID), addr, ok)

			cloud, ok := view.CloudVIPOf(vlan.VIP)
			addCloud(vlanName(d.name, vlan.ID), cloud, ok)
		}
	}

	for _, v := range f.config.VIPs() {
		add(f.canonical(v.Link), v.Address, true)
	}

	for _, v := range f.config.CloudVIPs() {
		addCloud(f.canonical(v.Link), v, true)
	}

	return specs, nil
}
