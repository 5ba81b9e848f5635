// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/netip"

	"go4.org/netipx"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// protocols are those of the configuration.
var protocols = map[string]nethelpers.Protocol{
	string(view.ProtocolTCP): nethelpers.ProtocolTCP, string(view.ProtocolUDP): nethelpers.ProtocolUDP,
	string(view.ProtocolICMP): nethelpers.ProtocolICMP, string(view.ProtocolICMPv6): nethelpers.ProtocolICMPv6,
}

func isICMP(r *view.IngressRule) bool {
	return r.PortSelector.Protocol == view.ProtocolICMP || r.PortSelector.Protocol == view.ProtocolICMPv6
}

// from matches the packets to the ports of a rule of the configuration that come from its networks; inverted, from others.
func from(r *view.IngressRule, invert bool) network.NfTablesRule {
	layer4 := &network.NfTablesLayer4Match{Protocol: protocols[string(r.PortSelector.Protocol)]}

	if len(r.PortSelector.Ports) > 0 {
		layer4.MatchDestinationPort = &network.NfTablesPortMatch{}
		for _, p := range r.PortSelector.Ports {
			layer4.MatchDestinationPort.Ranges = append(layer4.MatchDestinationPort.Ranges, network.PortRange{Lo: p.First, Hi: p.Last})
		}
	}

	sources := &network.NfTablesAddressMatch{Invert: invert}

	for i, s := range r.Ingress {
		switch {
		case !s.Except.IsValid():
			sources.IncludeSubnets = append(sources.IncludeSubnets, s.Subnet)
		case included(r.Ingress, i):
			sources.IncludeSubnets = append(sources.IncludeSubnets, without(s.Subnet, s.Except)...)
		default:
			sources.IncludeSubnets = append(sources.IncludeSubnets, s.Subnet)
			sources.ExcludeSubnets = append(sources.ExcludeSubnets, s.Except)
		}
	}

	return network.NfTablesRule{MatchLayer4: layer4, MatchSourceAddress: sources}
}

// included reports whether another network of a rule has addresses that are left out of network i: they match.
func included(sources []view.IngressSource, i int) bool {
	for j, s := range sources {
		if j != i && s.Subnet.Overlaps(sources[i].Except) {
			return true
		}
	}

	return false
}

// without returns a network without a part of it.
func without(subnet, except netip.Prefix) []netip.Prefix {
	var b netipx.IPSetBuilder

	b.AddPrefix(subnet.Masked())
	b.RemovePrefix(except.Masked())

	set, _ := b.IPSet() // the only error is that of an invalid network

	return set.Prefixes()
}

// refuseOthers drops the packets to the ports of a rule of the configuration that do not come from its networks.
func refuseOthers(r *view.IngressRule) network.NfTablesRule {
	return decide(nethelpers.VerdictDrop, from(r, true))
}

func accept(r network.NfTablesRule) network.NfTablesRule { return decide(nethelpers.VerdictAccept, r) }

// decide adds a verdict, and counts the packets.
func decide(v nethelpers.NfTablesVerdict, r network.NfTablesRule) network.NfTablesRule {
	r.Verdict, r.AnonCounter = &v, v == nethelpers.VerdictDrop

	return r
}

func states(s ...nethelpers.ConntrackState) network.NfTablesRule {
	return network.NfTablesRule{MatchConntrackState: &network.NfTablesConntrackStateMatch{States: s}}
}

func icmp(p nethelpers.Protocol, types ...nethelpers.ICMPType) network.NfTablesRule {
	r := network.NfTablesRule{MatchLayer4: &network.NfTablesLayer4Match{Protocol: p}}
	if len(types) > 0 {
		r.MatchLayer4.MatchICMPType = &network.NfTablesICMPTypeMatch{Types: types}
	}

	return r
}

func limited(r network.NfTablesRule) network.NfTablesRule {
	r.MatchLimit = &network.NfTablesLimitMatch{PacketRatePerSecond: icmpRate}

	return r
}

func port(p nethelpers.Protocol, number uint16) network.NfTablesRule {
	return network.NfTablesRule{MatchLayer4: &network.NfTablesLayer4Match{
		Protocol: p, MatchDestinationPort: &network.NfTablesPortMatch{Ranges: []network.PortRange{{Lo: number, Hi: number}}},
	}}
}

// to limits a rule to packets to some addresses.
func to(r network.NfTablesRule, addresses []netip.Addr) network.NfTablesRule {
	r.MatchDestinationAddress = &network.NfTablesAddressMatch{}
	for _, a := range addresses {
		a = a.WithZone("")
		r.MatchDestinationAddress.IncludeSubnets = append(r.MatchDestinationAddress.IncludeSubnets, netip.PrefixFrom(a, a.BitLen()))
	}

	return r
}
