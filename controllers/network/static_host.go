// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
)

// StaticHostController publishes the names that the machine knows: its own one and those of the configuration.
func StaticHostController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "network.StaticHostController",
		Reads: []controller.Input{
			fromconfig.Input(),
			controller.In[network.HostnameStatusSpec](controller.Weak, "", network.HostnameID),
			controller.In[network.NodeAddressSpec](controller.Weak, "", network.NodeAddressDefaultID),
		},
		Writes:  []controller.Output{controller.Out[network.StaticHostSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[network.StaticHostSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var (
				hostname network.HostnameStatusSpec
				own      network.NodeAddressSpec
			)

			cfg, err := fromconfig.View(ctx, rt)

			if err := errors.Join(err, typed.Read(ctx, rt, network.HostnameID, &hostname).Err, typed.Read(ctx, rt, network.NodeAddressDefaultID, &own).Err); err != nil {
				return err
			}

			for name, addresses := range staticHosts(hostname, own, cfg.ExtraHosts()) {
				if err := set(ctx, rt, "", name, network.StaticHostSpec{Addresses: addresses}); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

// staticHosts returns the addresses of each name, without repetitions.
func staticHosts(hostname network.HostnameStatusSpec, own network.NodeAddressSpec, extra []view.ExtraHost) map[string][]netip.Addr {
	hosts := map[string][]netip.Addr{}

	add := func(name string, addr netip.Addr) {
		if name != "" && addr.IsValid() && !slices.Contains(hosts[name], addr) {
			hosts[name] = append(hosts[name], addr)
		}
	}

	for _, name := range hostname.DNSNames() {
		for _, a := range own.Addresses {
			add(name, a.Addr())
		}
	}

	for _, host := range extra {
		for _, name := range host.Aliases {
			add(name, host.IP)
		}
	}

	return hosts
}
