// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"

	"github.com/seed-59268b81/talos/controllers/etcd/settings"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/network"
)

func configController() controller.Controller {
	return fromconfig.Controller("etcd.ConfigController", etcd.ConfigID, controller.Exclusive, fromconfig.OnControlPlane(settings.Config))
}

// specController chooses the name and the addresses of the member.
//
// Where nothing limits on which addresses etcd listens, it listens on [::] if the kernel has IPv6: an IPv6 address that appears later must
// not restart etcd.
func specController(ipv6 bool) controller.Controller {
	return transform.Singleton[etcd.ConfigSpec, etcd.SpecSpec]{
		Name: "etcd.SpecController",
		InID: etcd.ConfigID, OutID: etcd.SpecID,
		Extra: []controller.Input{
			controller.In[network.HostnameStatusSpec](controller.Weak, "", network.HostnameID),
			controller.In[network.NodeAddressSpec](controller.Weak, "", network.NodeAddressRoutedID),
		},
		Transform: func(ctx context.Context, r state.Reader, log *slog.Logger, config *etcd.ConfigSpec, out *etcd.SpecSpec) error {
			var (
				hostname  network.HostnameStatusSpec
				addresses network.NodeAddressSpec
			)

			ok, err := typed.All(typed.Read(ctx, r, network.HostnameID, &hostname), typed.Read(ctx, r, network.NodeAddressRoutedID, &addresses))
			if err != nil || !ok {
				return cmp.Or(err, transform.ErrNoOutput)
			}

			if *out, err = etcdSpec(*config, hostname.Hostname, addresses.IPs(), ipv6); err != nil {
				return err
			}

			if len(out.AdvertisedAddresses) == 0 {
				log.WarnContext(ctx, "etcd has no address to advertise: check cluster.etcd.advertisedSubnets",
					"addresses", addresses.Addresses, "advertisedSubnets", config.AdvertiseValidSubnets)

				return transform.ErrNoOutput
			}

			return nil
		},
	}.Controller()
}

// etcdSpec returns the settings of the member. It advertises the first address that the subnets allow, IPv4 before IPv6. When subnets
// are configured, it advertises all addresses in them.
func etcdSpec(config etcd.ConfigSpec, hostname string, addresses []netip.Addr, ipv6 bool) (etcd.SpecSpec, error) {
	advertised, err := filter(addresses, config.AdvertiseValidSubnets, config.AdvertiseExcludeSubnets)
	if err != nil {
		return etcd.SpecSpec{}, fmt.Errorf("cluster.etcd.advertisedSubnets: %w", err)
	}

	slices.SortStableFunc(advertised, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })

	if len(config.AdvertiseValidSubnets) == 0 && len(advertised) > 1 {
		advertised = advertised[:1]
	}

	spec := etcd.SpecSpec{Name: hostname, AdvertisedAddresses: advertised, Image: config.Image, ExtraArgs: config.ExtraArgs}

	if len(config.ListenValidSubnets) == 0 && len(config.ListenExcludeSubnets) == 0 {
		any := netip.IPv4Unspecified()
		if ipv6 {
			any = netip.IPv6Unspecified()
		}

		spec.ListenPeerAddresses = []netip.Addr{any}
		spec.ListenClientAddresses = []netip.Addr{any}

		return spec, nil
	}

	listen, err := filter(addresses, config.ListenValidSubnets, config.ListenExcludeSubnets)
	if err != nil {
		return etcd.SpecSpec{}, fmt.Errorf("cluster.etcd.listenSubnets: %w", err)
	}

	spec.ListenPeerAddresses = listen
	// The API server of this node always connects on loopback.
	spec.ListenClientAddresses = append([]netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, listen...)

	return spec, nil
}

// kernelHasIPv6 reports whether the kernel has IPv6. It does not change while the kernel runs: without the module, or with the kernel argument
// ipv6.disable=1, the file is missing.
func kernelHasIPv6() bool {
	_, err := os.Stat("/proc/net/if_inet6")

	return err == nil
}

// filter returns the addresses that are in one of the valid subnets, if there are any, and in none of the excluded.
func filter(addresses []netip.Addr, valid, excluded []string) (out []netip.Addr, err error) {
	include, err := prefixes(valid)
	if err != nil {
		return nil, err
	}

	exclude, err := prefixes(excluded)
	if err != nil {
		return nil, err
	}

	rule := network.NodeAddressFilterSpec{IncludeSubnets: include, ExcludeSubnets: exclude}

	for _, addr := range addresses {
		if rule.Passes(addr) {
			out = append(out, addr)
		}
	}

	return out, nil
}

func prefixes(subnets []string) (out []netip.Prefix, err error) {
	for _, text := range subnets {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, err
		}

		out = append(out, prefix)
	}

	return out, nil
}
