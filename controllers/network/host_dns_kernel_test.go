// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"testing"

	"github.com/miekg/dns"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// TestHostDNSOnTheKernel: the server answers on the real addresses, over UDP and TCP.
func TestHostDNSOnTheKernel(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	m, _ := onRealKernel(t)
	m.configure(`version: v1alpha1
machine:
  type: worker
  network: {hostname: node-7, extraHostEntries: [{ip: 192.0.2.99, aliases: [registry.example]}]}
  features: {hostDNS: {enabled: true, forwardKubeDNSToHost: true}}
cluster:
  network: {podSubnets: [10.244.0.0/16, "fc00:db8:10::/56"]}
`)

	await(m, "", "lo/169.254.116.108/32", func(a network.AddressStatusSpec) bool { return a.Scope == nethelpers.ScopeHost })
	await[network.AddressStatusSpec](m, "", "lo/fd54:616c:6f73:0:204f:5320:444e:531/128", nil)

	pods4, pods6 := netip.AddrPortFrom(network.HostDNSAddress4, 53), netip.AddrPortFrom(network.HostDNSAddress6, 53)

	for _, at := range []netip.AddrPort{network.HostDNSLoopback, pods4, pods6} {
		for _, protocol := range []string{"udp", "tcp"} {
			await(m, "", network.DNSResolveCacheID(protocol, at), func(s network.DNSResolveCacheSpec) bool { return s.Status == network.DNSRunning })

			client := dns.Client{Net: protocol}

			m.eventually(protocol+" "+at.String(), func() bool {
				reply, _, err := client.ExchangeContext(t.Context(), new(dns.Msg).SetQuestion("registry.example.", dns.TypeA), at.String())

				return err == nil && len(reply.Answer) == 1 && reply.Answer[0].(*dns.A).A.String() == "192.0.2.99"
			})
		}
	}
}
