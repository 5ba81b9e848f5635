// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// addressLayers proposes addresses: the loopback's, those of ip= and of the configuration.
func addressLayers(f facts, said remarks) []network.AddressSpecSpec {
	specs := []network.AddressSpecSpec{
		addressSpec("lo", netip.MustParsePrefix("127.0.0.1/8"), network.LayerDefault),
		addressSpec("lo", netip.MustParsePrefix("::1/128"), network.LayerDefault),
	}

	for _, ip := range f.cmdline.ips {
		if name := f.device(ip); name != "" && ip.Address.IsValid() {
			specs = append(specs, addressSpec(name, ip.Address, network.LayerCmdline))
		}
	}

	for _, l := range f.settings(f.devices(nil)) {
		for _, a := range l.Addresses {
			prefix, err := parsePrefix(a.Address)
			if err != nil {
				said.leftOut(l.At+".addresses", fmt.Errorf("link %s: %w", l.name, err))

				continue
			}

			spec := addressSpec(l.name, prefix, network.LayerConfiguration)
			spec.Priority = a.Metric
			specs = append(specs, spec)
		}
	}

	return specs
}

// parsePrefix reads an address with the length of its network; without a length it is a single address.
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

// scopeOf returns the scope of an address: for IPv6 the one that the kernel sets.
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
