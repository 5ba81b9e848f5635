// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// DefaultResolvers are used if no others are configured.
var DefaultResolvers = []netip.Addr{netip.MustParseAddr("1.1.1.1"), netip.MustParseAddr("8.8.8.8")}

// ResolverConfigController proposes name servers and search domains.
func ResolverConfigController() controller.Controller {
	return layerOf("network.ResolverConfigController",
		[]controller.Input{controller.In[network.HostnameStatusSpec](controller.Weak, "", network.HostnameID)},
		func(ctx context.Context, rt controller.Runtime, f facts, _ remarks) ([]network.ResolverSpecSpec, error) {
			var hostname network.HostnameStatusSpec

			if f := typed.Read(ctx, rt, network.HostnameID, &hostname); f.Err != nil {
				return nil, f.Err
			}

			return resolverLayers(f, hostname.Domainname), nil
		})
}

func resolverLayers(f facts, domain string) []network.ResolverSpecSpec {
	def := network.ResolverSpecSpec{DNSServers: DefaultResolvers, Layer: network.LayerDefault}
	if domain != "" {
		def.SearchDomains = []string{domain}
	}

	specs := []network.ResolverSpecSpec{def}

	var args network.ResolverSpecSpec

	for _, ip := range f.cmdline.ips {
		args.DNSServers = union(args.DNSServers, ip.DNS)
	}

	if len(args.DNSServers) > 0 {
		args.Layer = network.LayerCmdline
		specs = append(specs, args)
	}

	cfg := network.ResolverSpecSpec{
		DNSServers: union(nil, f.config.NameServers()), SearchDomains: f.config.SearchDomains(), Layer: network.LayerConfiguration,
		NameServers: f.nameServers(), SearchDomainsOverridden: f.config.SearchDomainDisabled(),
	}

	if len(cfg.DNSServers) > 0 || len(cfg.SearchDomains) > 0 || cfg.SearchDomainsOverridden {
		specs = append(specs, cfg)
	}

	return specs
}

// nameServers returns the configured name servers that are not only asked in the usual way.
func (f facts) nameServers() []network.NameServerSpec {
	settings := f.config.NameServerSettings()

	var out []network.NameServerSpec

	for _, s := range settings {
		if !slices.ContainsFunc(settings, func(other view.NameServer) bool { return other.Address == s.Address && other.Encrypted() }) {
			continue
		}

		protocol := map[view.DNSProtocol]nethelpers.DNSProtocol{
			view.DNSProtocolDoT: nethelpers.DNSProtocolDoT, view.DNSProtocolDoH: nethelpers.DNSProtocolDoH,
		}[s.Protocol]

		out = append(out, network.NameServerSpec{Addr: s.Address, Protocol: protocol, TLSServerName: string(s.TLSServerName)})
	}

	return out
}
