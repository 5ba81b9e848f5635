// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"cmp"
	"net/netip"
)

// upcloud is UpCloud's metadata service.
var upcloud = platform{
	name:  "upcloud",
	addrs: []netip.Addr{everywhere},
	lists: true,
	render: func(in *Instance) tree {
		var cards []object

		for i, card := range in.Cards {
			addresses := []object{}

			for _, p := range card.Addrs {
				_, router := card.first(p.Addr().Is4())
				family := "IPv4"

				if p.Addr().Is6() {
					family = "IPv6"
				}

				addresses = append(addresses, object{
					"address": p.Addr().String(), "family": family, "network": p.Masked().String(), "gateway": hostText(router),
					"dhcp": p.Addr().Is4(), "dns": in.dns(), "floating": false,
				})
			}

			cards = append(cards, object{"index": i + 1, "mac": card.MAC.String(), "type": cardKind(i), "network_id": in.uuid(), "ip_addresses": addresses})
		}

		all := object{
			"cloud_name": "upcloud", "platform": "servers", "subplatform": "metadata (http://169.254.169.254)",
			"instance_id": in.uuid(), "hostname": in.fqdn(), "region": cmp.Or(in.Zone, in.Region),
			"network": object{"interfaces": cards, "dns": in.dns()}, "tags": []string{}, "vendor_data": "",
		}

		docs := tree{}
		docs.leaves("/metadata/v1", all)
		docs.user("/metadata/v1/user_data", in)

		all["user_data"] = string(in.UserData)
		docs["/metadata/v1.json"] = jsonDocument(all)

		return docs
	},
}
