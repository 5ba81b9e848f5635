// SPDX-License-Identifier: Apache-2.0

package view

import (
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/network"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// VIP is an address that one control plane machine at a time has. At most one token is set: the API of that cloud then moves the address.
type VIP struct {
	Address netip.Addr
	// Link is empty in Link.VIP.
	Link string
	// HCloud and EquinixMetal are tokens for the API of the cloud.
	HCloud, EquinixMetal string
}

// Cloud reports whether the API of a cloud moves the address. Its network carries no announcements.
func (v VIP) Cloud() bool { return v.HCloud != "" || v.EquinixMetal != "" }

// VIPs are the virtual addresses that have documents of their own. Those of machine.network.interfaces are in Links.
func (c *Config) VIPs() []VIP {
	var out []VIP

	add := func(v VIP, address string) {
		if addr, err := netip.ParseAddr(address); err == nil { // the check reports others
			v.Address = addr
			out = append(out, v)
		}
	}

	for _, d := range config.All[*network.Layer2VIPConfig](c.all) {
		add(VIP{Link: string(d.Link)}, d.DocName)
	}

	for _, d := range config.All[*network.HCloudVIPConfig](c.all) {
		add(VIP{Link: string(d.Link), HCloud: d.APIToken}, d.DocName)
	}

	return out
}

// vipOf returns the virtual address of a link. It has the zero Addr without one.
func vipOf(v *v1alpha1.VIP) VIP {
	if v == nil {
		return VIP{}
	}

	var out VIP

	out.Address, _ = netip.ParseAddr(v.IP) // the check reports others

	switch {
	case v.HCloud != nil:
		out.HCloud = v.HCloud.APIToken
	case v.EquinixMetal != nil:
		out.EquinixMetal = v.EquinixMetal.APIToken
	}

	return out
}

// VIPAddresses are all virtual addresses that control plane machines share.
func (c *Config) VIPAddresses() []netip.Addr {
	var out []netip.Addr

	add := func(v VIP) {
		if v.Address.IsValid() && !slices.Contains(out, v.Address) {
			out = append(out, v.Address)
		}
	}

	for _, v := range c.VIPs() {
		add(v)
	}

	for _, l := range c.Links() {
		add(l.VIP)

		for _, tagged := range l.Tagged {
			add(tagged.VIP)
		}
	}

	return out
}
