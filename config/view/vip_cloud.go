// SPDX-License-Identifier: Apache-2.0

package view

import (
	"net/netip"

	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// CloudVIP is a VIP that the API of a cloud moves. It has the token of one cloud.
type CloudVIP struct {
	VIP

	HCloud, EquinixMetal string
}

// CloudVIPs are the virtual addresses of the documents HCloudVIPConfig. Those of the main document are in Devices.
func (c *Config) CloudVIPs() []CloudVIP {
	var out []CloudVIP

	for _, v := range c.hcloudVIPs {
		if addr, err := netip.ParseAddr(v.DocName); err == nil { // the check reports others
			out = append(out, CloudVIP{VIP: VIP{Address: addr, Link: string(v.Link)}, HCloud: v.APIToken})
		}
	}

	return out
}

// CloudVIPOf returns the virtual address of a device or VLAN that the API of a cloud moves, without the link.
func CloudVIPOf(v *v1alpha1.VIP) (CloudVIP, bool) {
	if v == nil || v.EquinixMetal == nil && v.HCloud == nil {
		return CloudVIP{}, false
	}

	addr, err := netip.ParseAddr(v.IP)
	out := CloudVIP{VIP: VIP{Address: addr}}

	if v.HCloud != nil {
		out.HCloud = v.HCloud.APIToken
	} else {
		out.EquinixMetal = v.EquinixMetal.APIToken
	}

	return out, err == nil
}
