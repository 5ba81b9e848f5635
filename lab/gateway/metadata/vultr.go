// SPDX-License-Identifier: Apache-2.0

package metadata

import "net/netip"

// vultr is Vultr's metadata service.
var vultr = platform{
	name:  "vultr",
	addrs: []netip.Addr{everywhere},
	lists: true,
	render: func(in *Instance) tree {
		var cards []object

		for i, card := range in.Cards {
			entry := object{"mac": card.MAC.String(), "network-type": cardKind(i), "networkid": ""}
			if i > 0 {
				entry["networkid"] = in.uuid()
			}

			if p, router := card.first(true); p.IsValid() {
				entry["ipv4"] = object{
					"address": p.Addr().String(), "netmask": netmask(p), "gateway": hostText(router), "additional": []object{},
				}
			}

			if p, _ := card.first(false); p.IsValid() {
				entry["ipv6"] = object{
					"address": p.Addr().String(), "network": p.Masked().Addr().String(), "prefix": p.Bits(), "additional": []object{},
				}
			}

			cards = append(cards, entry)
		}

		all := object{
			"hostname": in.Name, "instanceid": in.ID, "instance-v2-id": in.uuid(), "interfaces": cards,
			"region": object{"regioncode": in.Region},
		}

		docs := tree{}
		docs.leaves("/v1", all)
		docs["/v1.json"] = jsonDocument(all)
		docs.user("/latest/user-data", in)
		docs.user("/user-data/user-data", in)

		return docs
	},
}
