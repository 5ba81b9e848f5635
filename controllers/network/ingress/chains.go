// SPDX-License-Identifier: Apache-2.0

// Package ingress makes the chains of the ingress firewall from the configuration (NetworkDefaultActionConfig, NetworkRuleConfig).
//
// Never blocked are: the loopback and the tunnels (KubeSpan, SideroLink), packets of connections that exist, and the messages of ICMPv6
// without which no neighbour finds the machine. So a change of the rules ends no connection, and a machine without a rule for its API is
// reached by the tunnels. If packets are blocked by default, these are accepted beside what rules accept: a few messages of ICMP; packets
// from pods and services; DNS queries of pods; answers of DHCPv6 servers. If packets are accepted by default, a rule blocks its ports for all others than
// its networks.
//
// Not filtered here are packets that the machine forwards, as to pods: these are Kubernetes' network policies.
package ingress

import (
	"net/netip"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// The chains of the ingress firewall.
const (
	// Chain sees the packets to programs of the machine.
	Chain = "ingress"
	// Prerouting sees them before kube-proxy redirects those to node ports to pods: the other chain never sees those.
	Prerouting = "prerouting"

	priority           = nethelpers.ChainPriorityMangle + 10
	preroutingPriority = nethelpers.ChainPriorityNATDest - 10
)

// trustedLinks are never filtered. What comes from the tunnels is authenticated.
var trustedLinks = []string{"lo", "siderolink", "kubespan"}

// icmpRate is how many messages of ICMP are accepted in a second, and as many of ICMPv6, without a rule about them.
const icmpRate = 5

// hostDNS are the addresses on which the machine answers DNS queries of pods.
var hostDNS = []netip.Prefix{
	netip.PrefixFrom(network.HostDNSAddress4, network.HostDNSAddress4.BitLen()),
	netip.PrefixFrom(network.HostDNSAddress6, network.HostDNSAddress6.BitLen()),
}

const (
	portDNS          = 53
	portDHCPv6Client = 546
)

// linkLocal6 is where the answers of DHCPv6 servers come from (RFC 8415, 18.2.10): the machine asks a multicast address, so conntrack
// does not recognize them.
var linkLocal6 = netip.MustParsePrefix("fe80::/10")

// Chains returns the chains that a configuration needs, none if it has no firewall. The addresses are those of the machine.
func Chains(cfg *view.Config, addresses []netip.Addr) map[string]network.NfTablesChainSpec {
	if !cfg.IngressBlocked() && len(cfg.IngressRules()) == 0 {
		return nil
	}

	return map[string]network.NfTablesChainSpec{Chain: input(cfg), Prerouting: prerouting(cfg, addresses)}
}

// input returns the chain that filters packets to programs of the machine.
func input(cfg *view.Config) network.NfTablesChainSpec {
	chain := network.NfTablesChainSpec{Type: "filter", Hook: nethelpers.ChainHookInput, Priority: priority, Policy: nethelpers.VerdictAccept}
	chain.Rules = append(trusted(), decide(nethelpers.VerdictDrop, states(nethelpers.ConntrackStateInvalid)))

	if !cfg.IngressBlocked() {
		for _, r := range cfg.IngressRules() {
			if r.PortSelector.Protocol == view.ProtocolICMPv6 {
				chain.Rules = append(chain.Rules, neighbours())
			}

			chain.Rules = append(chain.Rules, refuseOthers(r))
		}

		return chain
	}

	chain.Policy = nethelpers.VerdictDrop
	chain.Rules = append(chain.Rules,
		neighbours(),
		accept(limited(icmp(nethelpers.ProtocolICMP))),
		accept(limited(icmp(nethelpers.ProtocolICMPv6))),
	)
	chain.Rules = append(chain.Rules, inside(cfg)...)

	for _, r := range cfg.IngressRules() {
		chain.Rules = append(chain.Rules, accept(from(r, false)))
	}

	return chain
}

// prerouting returns the chain that filters packets to the machine's addresses before they are redirected. It leaves alone what the
// machine forwards, as between pods, and messages of ICMP: no service has them, and the ingress chain filters them.
func prerouting(cfg *view.Config, addresses []netip.Addr) network.NfTablesChainSpec {
	chain := network.NfTablesChainSpec{Type: "filter", Hook: nethelpers.ChainHookPrerouting, Priority: preroutingPriority, Policy: nethelpers.VerdictAccept}
	chain.Rules = append(trusted(), decide(nethelpers.VerdictDrop, to(states(nethelpers.ConntrackStateInvalid), addresses)))

	if !cfg.IngressBlocked() {
		for _, r := range cfg.IngressRules() {
			if !isICMP(r) {
				chain.Rules = append(chain.Rules, to(refuseOthers(r), addresses))
			}
		}

		return chain
	}

	chain.Rules = append(chain.Rules, accept(icmp(nethelpers.ProtocolICMP)), accept(icmp(nethelpers.ProtocolICMPv6)))
	chain.Rules = append(chain.Rules, inside(cfg)...)

	for _, r := range cfg.IngressRules() {
		chain.Rules = append(chain.Rules, accept(from(r, false)))
	}

	chain.Rules = append(chain.Rules, decide(nethelpers.VerdictDrop, to(network.NfTablesRule{}, addresses)))

	return chain
}

// trusted accepts what no configuration blocks.
func trusted() []network.NfTablesRule {
	return []network.NfTablesRule{
		accept(network.NfTablesRule{MatchIIfName: &network.NfTablesIfNameMatch{InterfaceNames: trustedLinks}}),
		accept(states(nethelpers.ConntrackStateEstablished, nethelpers.ConntrackStateRelated)),
	}
}

// neighbours accepts the messages without which no neighbour finds the machine, and it finds no router.
func neighbours() network.NfTablesRule {
	return accept(icmp(nethelpers.ProtocolICMPv6,
		nethelpers.ICMPv6MulticastListenerQuery, nethelpers.ICMPv6RouterSolicitation, nethelpers.ICMPv6RouterAdvertisement,
		nethelpers.ICMPv6NeighborSolicitation, nethelpers.ICMPv6NeighborAdvertisement,
	))
}

// inside accepts what comes from the machine's own cluster and network without a rule.
func inside(cfg *view.Config) []network.NfTablesRule {
	cluster := network.NfTablesRule{MatchSourceAddress: &network.NfTablesAddressMatch{
		IncludeSubnets: append(append([]netip.Prefix{}, cfg.PodSubnets()...), cfg.ServiceSubnets()...),
	}}

	rules := []network.NfTablesRule{accept(cluster)}

	for _, p := range []nethelpers.Protocol{nethelpers.ProtocolUDP, nethelpers.ProtocolTCP} {
		dns := port(p, portDNS)
		dns.MatchDestinationAddress = &network.NfTablesAddressMatch{IncludeSubnets: hostDNS}
		rules = append(rules, accept(dns))
	}

	dhcp := port(nethelpers.ProtocolUDP, portDHCPv6Client)
	dhcp.MatchSourceAddress = &network.NfTablesAddressMatch{IncludeSubnets: []netip.Prefix{linkLocal6}}

	return append(rules, accept(dhcp))
}
