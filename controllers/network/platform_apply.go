// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// platformConfigApplyController proposes what the platform says about the network, and publishes its metadata and external addresses.
func platformConfigApplyController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "network.PlatformConfigApplyController",
		Reads:          []controller.Input{controller.In[network.PlatformConfigSpec](controller.Weak, "")},
		Writes: []controller.Output{
			controller.Out[network.AddressSpecSpec](controller.Shared, network.ConfigNamespaceName),
			controller.Out[network.LinkSpecSpec](controller.Shared, network.ConfigNamespaceName),
			controller.Out[network.RouteSpecSpec](controller.Shared, network.ConfigNamespaceName),
			controller.Out[network.HostnameSpecSpec](controller.Shared, network.ConfigNamespaceName),
			controller.Out[network.ResolverSpecSpec](controller.Shared, network.ConfigNamespaceName),
			controller.Out[network.TimeServerSpecSpec](controller.Shared, network.ConfigNamespaceName),
			controller.Out[network.OperatorSpecSpec](controller.Shared, network.ConfigNamespaceName),
			controller.Out[network.ProbeSpecSpec](controller.Shared, network.ConfigNamespaceName),
			controller.Out[network.AddressStatusSpec](controller.Shared, network.NamespaceName),
			controller.Out[runtime.PlatformMetadataSpec](controller.Exclusive),
		},
		Cleanup: []resource.Kind{
			resource.KindOf[network.AddressSpecSpec](network.ConfigNamespaceName), resource.KindOf[network.LinkSpecSpec](network.ConfigNamespaceName),
			resource.KindOf[network.RouteSpecSpec](network.ConfigNamespaceName), resource.KindOf[network.HostnameSpecSpec](network.ConfigNamespaceName),
			resource.KindOf[network.ResolverSpecSpec](network.ConfigNamespaceName), resource.KindOf[network.TimeServerSpecSpec](network.ConfigNamespaceName),
			resource.KindOf[network.OperatorSpecSpec](network.ConfigNamespaceName), resource.KindOf[network.ProbeSpecSpec](network.ConfigNamespaceName),
			resource.KindOf[network.AddressStatusSpec](""),
		},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var spec network.PlatformConfigSpec

			f := typed.Read(ctx, rt, network.PlatformConfigActiveID, &spec)
			if f.Err == nil && !f.OK {
				f = typed.Read(ctx, rt, network.PlatformConfigCachedID, &spec)
			}

			if f.Err != nil || !f.OK {
				return f.Err
			}

			return errors.Join(
				propose(ctx, rt, "", spec.Addresses), propose(ctx, rt, "", spec.Links), propose(ctx, rt, "", spec.Routes),
				propose(ctx, rt, "", spec.Hostnames), propose(ctx, rt, "", spec.Resolvers), propose(ctx, rt, "", spec.TimeServers),
				propose(ctx, rt, "", spec.Operators), propose(ctx, rt, "", spec.Probes), showExternal(ctx, rt, spec.ExternalIPs),
				set(ctx, rt, "", runtime.PlatformMetadataID, spec.Metadata),
			)
		},
	}
}

// showExternal publishes addresses that the platform translates to those of the machine.
func showExternal(ctx context.Context, rt controller.Runtime, addresses []netip.Addr) error {
	for _, a := range addresses {
		p := netip.PrefixFrom(a, a.BitLen())
		status := network.AddressStatusSpec{Address: p, LinkName: network.ExternalLink, Family: familyOf(a), Scope: scopeOf(a)}

		if err := set(ctx, rt, "", network.AddressID(network.ExternalLink, p), status); err != nil {
			return err
		}
	}

	return nil
}
