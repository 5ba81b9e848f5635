// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"
	"strings"
)

// hcloud is Hetzner Cloud's metadata service, whose answers are YAML.
var hcloud = platform{
	name:  "hcloud",
	addrs: append(addrs("fe80::a9fe:a9fe"), everywhere),
	render: func(in *Instance) tree {
		const at = "/hetzner/v1"

		public := in.Public4
		if !public.IsValid() {
			public = in.Cards[0].addr4().Addr()
		}

		var all []string

		docs := tree{}
		for _, fact := range [][2]string{
			{"instance-id", fmt.Sprint(in.number())}, {"hostname", in.fqdn()}, {"region", in.Region}, {"availability-zone", in.Zone},
			{"public-ipv4", hostText(public)},
		} {
			docs.put(at+"/metadata/"+fact[0], fact[1])
			all = append(all, fact[0]+": "+fact[1])
		}

		docs[at+"/metadata/private-networks"] = text(hetznerPrivate(in))
		docs[at+"/metadata/network-config"] = text(hetznerNetwork(in))
		docs[at+"/metadata"] = lines(append(all, "network-config:\n"+indent(hetznerNetwork(in))))
		docs.user(at+"/userdata", in)

		return docs
	},
}

// hetznerNetwork is cloud-init's network configuration, version 1: IPv4 by DHCP,
// IPv6 fixed.
func hetznerNetwork(in *Instance) string {
	out := []string{"version: 1", "config:", "- type: physical", "  name: eth0",
		fmt.Sprintf("  mac_address: %q", in.Cards[0].MAC), "  subnets:"}

	if in.Cards[0].addr4().IsValid() {
		out = append(out, "  - type: dhcp", "    ipv4: true")
	}

	if p, router := in.Cards[0].first(false); p.IsValid() {
		out = append(out, "  - type: static", "    ipv6: true", "    address: "+p.String(), "    gateway: "+hostText(router))

		if len(in.DNS) > 0 {
			out = append(out, "    dns_nameservers:")
		}

		for _, addr := range in.dns() {
			out = append(out, fmt.Sprintf("    - %q", addr))
		}
	}

	return strings.Join(out, "\n") + "\n"
}

// hetznerPrivate lists the cards after the first.
func hetznerPrivate(in *Instance) string {
	out := []string{}

	for i, card := range in.Cards[1:] {
		p, router := card.first(true)
		if !p.IsValid() {
			continue
		}

		out = append(out, "- ip: "+p.Addr().String(), "  alias_ips: []", fmt.Sprintf("  interface_num: %d", i+1),
			fmt.Sprintf("  mac_address: %q", card.MAC), fmt.Sprintf("  network_id: %d", i+1), fmt.Sprintf("  network_name: network-%d", i+1),
			"  network: "+p.Masked().String(), "  subnet: "+p.Masked().String(), "  gateway: "+hostText(router))
	}

	if len(out) == 0 {
		return "[]\n"
	}

	return strings.Join(out, "\n") + "\n"
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ")
}
