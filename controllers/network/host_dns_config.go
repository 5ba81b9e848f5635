// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// HostDNSConfigController publishes how the machine's own DNS server runs, and proposes the addresses that it has for pods.
func HostDNSConfigController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "network.HostDNSConfigController",
		Reads:          []controller.Input{fromconfig.Input()},
		Writes: []controller.Output{
			controller.Out[network.HostDNSConfigSpec](controller.Exclusive),
			controller.Out[network.AddressSpecSpec](controller.Shared, network.ConfigNamespaceName),
		},
		Cleanup: []resource.Kind{resource.KindOf[network.HostDNSConfigSpec](""), resource.KindOf[network.AddressSpecSpec](network.ConfigNamespaceName)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			cfg, err := fromconfig.View(ctx, rt)
			if err != nil {
				return err
			}

			spec := hostDNSConfig(cfg)

			if err := set(ctx, rt, "", network.HostDNSConfigID, spec); err != nil {
				return err
			}

			return propose(ctx, rt, "", hostDNSAddresses(spec))
		},
	}
}

func hostDNSConfig(cfg *view.Config) network.HostDNSConfigSpec {
	if !cfg.HostDNSEnabled() {
		return network.HostDNSConfigSpec{}
	}

	spec := network.HostDNSConfigSpec{
		Enabled: true, ListenAddresses: []netip.AddrPort{network.HostDNSLoopback}, ResolveMemberNames: cfg.HostDNSKnowsMembers(),
	}

	if !cfg.HostDNSForPods() {
		return spec
	}

	// Pods get the addresses of the families that they have: to an address of another one they have no route.
	for _, pods := range cfg.PodSubnets() {
		if pods.Addr().Is4() {
			spec.ServiceHostDNSAddress = network.HostDNSAddress4
		} else {
			spec.ServiceHostDNSAddressV6 = network.HostDNSAddress6
		}
	}

	for _, a := range []netip.Addr{spec.ServiceHostDNSAddress, spec.ServiceHostDNSAddressV6} {
		if a.IsValid() {
			spec.ListenAddresses = append(spec.ListenAddresses, netip.AddrPortFrom(a, network.HostDNSLoopback.Port()))
		}
	}

	return spec
}

// hostDNSAddresses are the addresses of the loopback to which pods send queries. Their scope is the host, so that the kernel does not
// choose them as sources of other packets.
func hostDNSAddresses(spec network.HostDNSConfigSpec) []network.AddressSpecSpec {
	var out []network.AddressSpecSpec

	for _, a := range []netip.Addr{spec.ServiceHostDNSAddress, spec.ServiceHostDNSAddressV6} {
		if a.IsValid() {
			address := addressSpec("lo", netip.PrefixFrom(a, a.BitLen()), network.LayerDefault)
			address.Scope = nethelpers.ScopeHost
			out = append(out, address)
		}
	}

	return out
}
