// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// AddressConfigController proposes addresses: the loopback's, those of ip= and of the configuration.
func AddressConfigController() controller.Controller {
	return layerController("network.AddressConfigController", nil,
		func(_ context.Context, _ controller.Runtime, f facts, log *slog.Logger) ([]network.AddressSpecSpec, error) {
			return addressLayers(f, log)
		})
}

func addressLayers(f facts, log *slog.Logger) ([]network.AddressSpecSpec, error) {
	specs := []network.AddressSpecSpec{
		addressSpec("lo", netip.MustParsePrefix("127.0.0.1/8"), network.LayerDefault),
		addressSpec("lo", netip.MustParsePrefix("::1/128"), network.LayerDefault),
	}

	for _, ip := range f.cmdline.ips {
		if name := f.device(ip); name != "" && ip.Address.IsValid() {
			specs = append(specs, addressSpec(name, ip.Address, network.LayerCmdline))
		}
	}

	devices := f.devices(log)

	add := func(link string, addresses []string) error {
		for _, text := range addresses {
			prefix, err := parsePrefix(text)
			if err != nil {
				return fmt.Errorf("machine.network.interfaces %s: %w", link, err)
			}

			specs = append(specs, addressSpec(link, prefix, network.LayerConfiguration))
		}

		return nil
	}

	for _, d := range devices {
		if f.ignored(devices, d.name) {
			continue
		}

		if err := add(d.name, d.Addresses); err != nil {
			return nil, err
		}

		for _, vlan := range d.VLANs {
			if err := add(vlanName(d.name, vlan.ID), vlan.Addresses); err != nil {
				return nil, err
			}
		}
	}

	return specs, nil
}

// parsePrefix reads an address with the length of its network; without one it stands alone.
func parsePrefix(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, err
		}

		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}

	return netip.ParsePrefix(text)
}

func addressSpec(link string, prefix netip.Prefix, layer network.ConfigLayer) network.AddressSpecSpec {
	return network.AddressSpecSpec{
		Address: prefix, LinkName: link, Family: familyOf(prefix.Addr()), Scope: scopeOf(prefix.Addr()),
		Flags: nethelpers.AddressPermanent, Layer: layer,
	}
}

func familyOf(a netip.Addr) nethelpers.Family {
	if a.Is4() {
		return nethelpers.FamilyInet4
	}

	return nethelpers.FamilyInet6
}

// scopeOf is the scope that the kernel gives to an address, and for IPv4 the one that it ought to have.
func scopeOf(a netip.Addr) nethelpers.Scope {
	switch {
	case a.IsLoopback():
		return nethelpers.ScopeHost
	case a.Is6() && a.IsLinkLocalUnicast():
		return nethelpers.ScopeLink
	default:
		return nethelpers.ScopeGlobal
	}
}
