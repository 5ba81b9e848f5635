// SPDX-License-Identifier: Apache-2.0

package view

import (
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// VIP is an address that one control plane machine at a time has.
type VIP struct {
	Address netip.Addr
	Link    string
}

// VIPs are the virtual addresses of the documents Layer2VIPConfig. Those of the main document are in Devices.
func (c *Config) VIPs() []VIP {
	out := make([]VIP, 0, len(c.vips))

	for _, v := range c.vips {
		if addr, err := netip.ParseAddr(v.DocName); err == nil { // the check reports others
			out = append(out, VIP{Address: addr, Link: string(v.Link)})
		}
	}

	return out
}

// Layer2VIP returns the virtual address of a device or VLAN, which an election decides. One that the API of a cloud moves is none.
func Layer2VIP(v *v1alpha1.VIP) (netip.Addr, bool) {
	if v == nil || v.EquinixMetal != nil || v.HCloud != nil {
		return netip.Addr{}, false
	}

	addr, err := netip.ParseAddr(v.IP)

	return addr, err == nil
}

// VIPAddresses are all virtual addresses that control plane machines share.
func (c *Config) VIPAddresses() []netip.Addr {
	var out []netip.Addr

	add := func(addr netip.Addr, ok bool) {
		if ok && !slices.Contains(out, addr) {
			out = append(out, addr)
		}
	}

	for _, v := range c.VIPs() {
		add(v.Address, true)
	}

	for _, v := range c.CloudVIPs() {
		add(v.Address, true)
	}

	addAny := func(v *v1alpha1.VIP) {
		add(Layer2VIP(v))

		cloud, ok := CloudVIPOf(v)
		add(cloud.Address, ok)
	}

	for _, d := range c.Devices() {
		addAny(d.VIP)

		for _, vlan := range d.VLANs {
			addAny(vlan.VIP)
		}
	}

	return out
}
