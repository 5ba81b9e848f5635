// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// OperatorConfigController proposes operators: DHCP where the configuration or ip= asks for it, and on every
// physical link that nothing else speaks of. DHCPv6 goes with DHCPv4 unless it is turned off, in layer default, in which it
// does what routers say; turned on, it asks for addresses whatever they say.
func OperatorConfigController() controller.Controller {
	return layerController("network.OperatorConfigController", nil,
		func(_ context.Context, _ controller.Runtime, f facts, log *slog.Logger) ([]network.OperatorSpecSpec, error) {
			return operatorLayers(f, log), nil
		})
}

func operatorLayers(f facts, log *slog.Logger) []network.OperatorSpecSpec {
	var specs []network.OperatorSpecSpec

	devices := f.devices(log)
	configured := f.configured(devices)

	for i, l := range f.links {
		if l.Physical() && !configured[f.names[i]] {
			specs = append(specs, dhcp4Spec(f.names[i], nil, network.LayerDefault), dhcp6Spec(f.names[i], nil, network.LayerDefault))
		}
	}

	for _, ip := range f.cmdline.ips {
		if name := f.device(ip); name != "" && ip.DHCP {
			specs = append(specs, dhcp4Spec(name, nil, network.LayerCmdline), dhcp6Spec(name, nil, network.LayerDefault))
		}
	}

	add := func(link string, on *bool, options *view.DHCPOptions) {
		if !view.IsTrue(on) {
			return
		}

		if options == nil {
			options = &view.DHCPOptions{}
		}

		if view.IsTrueOr(options.IPv4, true) {
			specs = append(specs, dhcp4Spec(link, options, network.LayerConfiguration))
		}

		switch {
		case view.IsTrue(options.IPv6):
			specs = append(specs, dhcp6Spec(link, options, network.LayerConfiguration))
		case options.IPv6 == nil:
			specs = append(specs, dhcp6Spec(link, options, network.LayerDefault))
		}
	}

	for _, d := range devices {
		if f.ignored(devices, d.name) {
			continue
		}

		add(d.name, d.DHCP, d.DHCPOptions)

		for _, vlan := range d.VLANs {
			add(vlanName(d.name, vlan.ID), vlan.DHCP, vlan.DHCPOptions)
		}
	}

	return specs
}

func dhcp4Spec(link string, options *view.DHCPOptions, layer network.ConfigLayer) network.OperatorSpecSpec {
	metric := uint32(network.DefaultRouteMetric)
	if options != nil && options.RouteMetric != 0 {
		metric = options.RouteMetric
	}

	return network.OperatorSpecSpec{
		Operator: network.OperatorDHCP4, LinkName: link, RequireUp: true,
		DHCP4: network.DHCP4OperatorSpec{RouteMetric: metric}, Layer: layer,
	}
}

func dhcp6Spec(link string, options *view.DHCPOptions, layer network.ConfigLayer) network.OperatorSpecSpec {
	spec := network.OperatorSpecSpec{
		Operator: network.OperatorDHCP6, LinkName: link, RequireUp: true,
		DHCP6: network.DHCP6OperatorSpec{RouteMetric: network.DefaultRouteMetric}, Layer: layer,
	}

	if options != nil && options.RouteMetric != 0 {
		spec.DHCP6.RouteMetric = options.RouteMetric
	}

	if options != nil && options.DUIDv6 != "" {
		spec.DHCP6.ClientIdentifier = network.ClientIdentifierSpec{ClientIdentifier: nethelpers.ClientIdentifierDUID, DUIDRawHex: options.DUIDv6}
	}

	return spec
}
