// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// operatorLayers proposes operators: DHCP if the configuration or ip= requests it, and on every
// physical link without other settings. Unless it is disabled, DHCPv6 runs with DHCPv4, in layer default: then it does what routers
// advertise. If it is enabled, it requests addresses whatever they advertise.
func operatorLayers(f facts, _ remarks) []network.OperatorSpecSpec {
	var (
		specs []network.OperatorSpecSpec
		none  view.DHCP
	)

	devices := f.devices(nil)
	configured := f.configured(devices)

	for i, l := range f.links {
		if l.Physical() && !configured[f.names[i]] && f.config.DefaultDHCP() {
			specs = append(specs, dhcp4Spec(f.names[i], none, network.LayerDefault), dhcp6Spec(f.names[i], none, network.LayerDefault))
		}
	}

	for _, ip := range f.cmdline.ips {
		if name := f.device(ip); name != "" && ip.DHCP {
			specs = append(specs, dhcp4Spec(name, none, network.LayerCmdline), dhcp6Spec(name, none, network.LayerDefault))
		}
	}

	for _, l := range f.settings(devices) {
		if l.DHCP4 != nil {
			specs = append(specs, dhcp4Spec(l.name, *l.DHCP4, network.LayerConfiguration))
		}

		switch {
		case l.DHCP6 == nil:
		case l.DHCP6.Advertised:
			specs = append(specs, dhcp6Spec(l.name, *l.DHCP6, network.LayerDefault))
		default:
			specs = append(specs, dhcp6Spec(l.name, *l.DHCP6, network.LayerConfiguration))
		}
	}

	return specs
}

func dhcp4Spec(link string, s view.DHCP, layer network.ConfigLayer) network.OperatorSpecSpec {
	return network.OperatorSpecSpec{
		Operator: network.OperatorDHCP4, LinkName: link, RequireUp: true, Layer: layer,
		DHCP4: network.DHCP4OperatorSpec{
			RouteMetric: cmp.Or(s.RouteMetric, network.DefaultRouteMetric), SkipHostnameRequest: s.IgnoreHostname, SkipRoutes: s.IgnoreRoutes,
			ClientIdentifier: clientIdentifierSpec(s),
		},
	}
}

func dhcp6Spec(link string, s view.DHCP, layer network.ConfigLayer) network.OperatorSpecSpec {
	return network.OperatorSpecSpec{
		Operator: network.OperatorDHCP6, LinkName: link, RequireUp: true, Layer: layer,
		DHCP6: network.DHCP6OperatorSpec{
			RouteMetric: network.DefaultRouteMetric, SkipHostnameRequest: s.IgnoreHostname, ClientIdentifier: clientIdentifierSpec(s),
		},
	}
}

// clientIdentifierSpec returns how a client identifies itself.
func clientIdentifierSpec(s view.DHCP) network.ClientIdentifierSpec {
	switch s.ClientIdentifier {
	case "mac":
		return network.ClientIdentifierSpec{ClientIdentifier: nethelpers.ClientIdentifierMAC}
	case "duid":
		return network.ClientIdentifierSpec{ClientIdentifier: nethelpers.ClientIdentifierDUID, DUIDRawHex: s.DUID}
	default:
		return network.ClientIdentifierSpec{}
	}
}
