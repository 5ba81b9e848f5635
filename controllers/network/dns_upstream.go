// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/network/hostdns"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// DNSUpstreamController publishes the servers that the machine's own DNS server asks.
func DNSUpstreamController() controller.Controller {
	var (
		settings  network.HostDNSConfigSpec
		resolvers network.ResolverStatusSpec
	)

	return frominputs.Controller[network.DNSUpstreamSpec]("network.DNSUpstreamController", controller.Exclusive, frominputs.List{
		frominputs.Of(network.HostDNSConfigID, &settings),
		frominputs.Of(network.ResolverID, &resolvers),
	}, func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
		for _, u := range dnsUpstreams(settings, resolvers) {
			if err := set(ctx, rt, "", u.Address.String(), u); err != nil {
				return err
			}
		}

		return nil
	})
}

// dnsUpstreams returns the resolvers with their protocols. A machine that would ask itself asks no one.
func dnsUpstreams(settings network.HostDNSConfigSpec, resolvers network.ResolverStatusSpec) []network.DNSUpstreamSpec {
	if !settings.Enabled {
		return nil
	}

	var out []network.DNSUpstreamSpec

	for _, s := range nameServers(resolvers) {
		at := netip.AddrPortFrom(s.Addr, hostdns.Protocol(s.Protocol).Port())

		if slices.Contains(settings.ListenAddresses, at) || slices.ContainsFunc(out, func(u network.DNSUpstreamSpec) bool { return u.Address == at }) {
			continue
		}

		out = append(out, network.DNSUpstreamSpec{Address: at, Protocol: s.Protocol, TLSServerName: s.TLSServerName, Order: len(out)})
	}

	return out
}

// nameServers returns the name servers with their protocols: where none is said, it is UDP.
func nameServers(r network.ResolverStatusSpec) []network.NameServerSpec {
	out := slices.Clone(r.NameServers)

	for _, a := range r.DNSServers {
		if !slices.ContainsFunc(r.NameServers, func(s network.NameServerSpec) bool { return s.Addr == a }) {
			out = append(out, network.NameServerSpec{Addr: a, Protocol: nethelpers.DNSProtocolDo53})
		}
	}

	slices.SortStableFunc(out, func(a, b network.NameServerSpec) int {
		return slices.Index(r.DNSServers, a.Addr) - slices.Index(r.DNSServers, b.Addr)
	})

	return out
}
