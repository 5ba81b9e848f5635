// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"
	"slices"
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

		facts := []string{
			"instance-id", fmt.Sprint(in.number()), "hostname", in.fqdn(), "region", in.Region, "availability-zone", in.Zone,
			"public-ipv4", hostText(public),
		}

		docs := tree{}
		docs.put(at+"/metadata/", facts...)

		all := object{"network-config": hetznerNetwork(in)}
		for fact := range slices.Chunk(facts, 2) {
			all[fact[0]] = fact[1]
		}

		all["instance-id"] = in.number()

		docs[at+"/metadata/private-networks"] = yamlDocument(hetznerPrivate(in))
		docs[at+"/metadata/network-config"] = yamlDocument(hetznerNetwork(in))
		docs[at+"/metadata"] = yamlDocument(all)
		docs.user(at+"/userdata", in)

		return docs
	},
}

// hetznerNetwork returns cloud-init's network configuration, version 1, with DHCP for IPv4 and a fixed address for
// IPv6.
func hetznerNetwork(in *Instance) object {
	subnets := []object{}

	if in.Cards[0].addr4().IsValid() {
		subnets = append(subnets, object{"type": "dhcp", "ipv4": true})
	}

	if p, router := in.Cards[0].first(false); p.IsValid() {
		subnet := object{"type": "static", "ipv6": true, "address": p.String(), "gateway": hostText(router)}
		if len(in.DNS) > 0 {
			subnet["dns_nameservers"] = in.dns()
		}

		subnets = append(subnets, subnet)
	}

	return object{"version": 1, "config": []object{{
		"type": "physical", "name": "eth0", "mac_address": in.Cards[0].MAC.String(), "subnets": subnets,
	}}}
}

// hetznerPrivate returns the cards after the first.
func hetznerPrivate(in *Instance) []object {
	list := []object{}

	for i, card := range in.Cards[1:] {
		if p, router := card.first(true); p.IsValid() {
			list = append(list, object{
				"ip": p.Addr().String(), "alias_ips": []string{}, "interface_num": i + 1, "mac_address": card.MAC.String(),
				"network_id": i + 1, "network_name": fmt.Sprintf("network-%d", i+1), "network": p.Masked().String(),
				"subnet": p.Masked().String(), "gateway": hostText(router),
			})
		}
	}

	return list
}
