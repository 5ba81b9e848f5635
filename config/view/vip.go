// SPDX-License-Identifier: Apache-2.0

package view

import (
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/network"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// VIP is an address that one control plane machine at a time has.
type VIP struct {
	Address netip.Addr
	Link    string
}

// VIPs are the virtual addresses of the documents Layer2VIPConfig. Those of the main document are in Links.
func (c *Config) VIPs() []VIP {
	var out []VIP

	for _, v := range config.All[*network.Layer2VIPConfig](c.all) {
		if addr, err := netip.ParseAddr(v.DocName); err == nil { // the check reports others
			out = append(out, VIP{Address: addr, Link: string(v.Link)})
		}
	}

	return out
}

// layer2VIP returns the virtual address of a link, which an election decides, or the zero Addr. One that the API of a cloud moves is none.
func layer2VIP(v *v1alpha1.VIP) netip.Addr {
	if v == nil || v.EquinixMetal != nil || v.HCloud != nil {
		return netip.Addr{}
	}

	addr, _ := netip.ParseAddr(v.IP) // the check reports others

	return addr
}

// VIPAddresses are all virtual addresses that control plane machines share.
func (c *Config) VIPAddresses() []netip.Addr {
	var out []netip.Addr

	add := func(addr netip.Addr) {
		if addr.IsValid() && !slices.Contains(out, addr) {
			out = append(out, addr)
		}
	}

	for _, v := range c.VIPs() {
		add(v.Address)
	}

	for _, l := range c.Links() {
		add(l.VIP)

		for _, tagged := range l.Tagged {
			add(tagged.VIP)
		}
	}

	return out
}
