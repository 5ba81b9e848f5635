// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"log/slog"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// operatorLayers proposes operators: DHCP if the configuration or ip= requests it, and on every
// physical link without other settings. Unless it is disabled, DHCPv6 runs with DHCPv4, in layer default: then it does what routers
// advertise. If it is enabled, it requests addresses whatever they advertise.
func operatorLayers(f facts, log *slog.Logger) ([]network.OperatorSpecSpec, error) {
	var (
		specs []network.OperatorSpecSpec
		none  view.DHCPOptions
	)

	devices := f.devices(log)
	configured := f.configured(devices)

	for i, l := range f.links {
		if l.Physical() && !configured[f.names[i]] {
			specs = append(specs, dhcp4Spec(f.names[i], none, network.LayerDefault), dhcp6Spec(f.names[i], none, network.LayerDefault))
		}
	}

	for _, ip := range f.cmdline.ips {
		if name := f.device(ip); name != "" && ip.DHCP {
			specs = append(specs, dhcp4Spec(name, none, network.LayerCmdline), dhcp6Spec(name, none, network.LayerDefault))
		}
	}

	for _, l := range f.settings(devices) {
		if !view.IsTrue(l.dhcp) {
			continue
		}

		options := or(l.dhcpOptions, none)

		if view.IsTrueOr(options.IPv4, true) {
			specs = append(specs, dhcp4Spec(l.name, options, network.LayerConfiguration))
		}

		switch {
		case view.IsTrue(options.IPv6):
			specs = append(specs, dhcp6Spec(l.name, options, network.LayerConfiguration))
		case options.IPv6 == nil:
			specs = append(specs, dhcp6Spec(l.name, options, network.LayerDefault))
		}
	}

	return specs, nil
}

func dhcp4Spec(link string, options view.DHCPOptions, layer network.ConfigLayer) network.OperatorSpecSpec {
	return network.OperatorSpecSpec{
		Operator: network.OperatorDHCP4, LinkName: link, RequireUp: true,
		DHCP4: network.DHCP4OperatorSpec{RouteMetric: cmp.Or(options.RouteMetric, network.DefaultRouteMetric)}, Layer: layer,
	}
}

func dhcp6Spec(link string, options view.DHCPOptions, layer network.ConfigLayer) network.OperatorSpecSpec {
	spec := network.OperatorSpecSpec{
		Operator: network.OperatorDHCP6, LinkName: link, RequireUp: true,
		DHCP6: network.DHCP6OperatorSpec{RouteMetric: cmp.Or(options.RouteMetric, network.DefaultRouteMetric)}, Layer: layer,
	}

	if options.DUIDv6 != "" {
		spec.DHCP6.ClientIdentifier = network.ClientIdentifierSpec{ClientIdentifier: nethelpers.ClientIdentifierDUID, DUIDRawHex: options.DUIDv6}
	}

	return spec
}
