// SPDX-License-Identifier: Apache-2.0

package metadata

import "fmt"

// equinixMetal is Equinix Metal's metadata service. Machines find it by name. Here it is served without TLS, since
// machines in the lab trust no certificate for that name.
var equinixMetal = platform{
	name:  "equinixMetal",
	names: []string{"metadata.platformequinix.com", "metadata.packet.net"},
	render: func(in *Instance) tree {
		var (
			cards     []object
			addresses = []object{}
		)

		for i, card := range in.Cards {
			cards = append(cards, object{"name": fmt.Sprintf("eth%d", i), "mac": card.MAC.String(), "bond": "bond0"})
		}

		for _, is4 := range []bool{true, false} {
			p, router := in.Cards[0].first(is4)
			if !p.IsValid() {
				continue
			}

			family := 4
			if !is4 {
				family = 6
			}

			addresses = append(addresses, object{
				"address_family": family, "address": p.Addr().String(), "network": p.Masked().Addr().String(), "cidr": p.Bits(),
				"netmask": netmask(p), "gateway": hostText(router), "public": true, "management": true, "enabled": true,
			})
		}

		docs := tree{"/metadata": jsonDocument(object{
			"id": in.uuid(), "hostname": in.Name, "plan": in.Type, "metro": in.Region, "facility": in.Zone, "tags": []string{},
			"network":          object{"bonding": object{"mode": 4}, "interfaces": cards, "addresses": addresses},
			"private_subnets":  []string{},
			"operating_system": object{"slug": "custom_ipxe"},
		})}
		docs.user("/userdata", in)
		docs.put("/2009-04-04/meta-data/", "hostname", in.Name, "instance-id", in.uuid())

		return docs
	},
}
