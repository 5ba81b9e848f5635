// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"net/netip"
	"strings"
)

// digitalOcean is DigitalOcean's metadata service.
var digitalOcean = platform{
	name:  "digital-ocean",
	addrs: []netip.Addr{everywhere},
	lists: true,
	render: func(in *Instance) tree {
		const at = "/metadata/v1"

		interfaces := object{}

		for i, card := range in.Cards {
			entry := object{"mac": card.MAC.String(), "type": cardKind(i)}
			if p, router := card.first(true); p.IsValid() {
				entry["ipv4"] = object{"ip_address": p.Addr().String(), "netmask": netmask(p), "gateway": hostText(router)}
			}

			if p, router := card.first(false); p.IsValid() {
				entry["ipv6"] = object{"ip_address": p.Addr().String(), "cidr": p.Bits(), "gateway": hostText(router)}
			}

			of, _ := interfaces[cardKind(i)].([]object)
			interfaces[cardKind(i)] = append(of, entry)
		}

		all := object{
			"droplet_id": in.number(), "hostname": in.fqdn(), "region": in.Region, "interfaces": interfaces,
			"dns":      object{"nameservers": in.dns()},
			"features": object{"dhcp_enabled": true},
		}

		docs := tree{}
		docs.leaves(at, all)
		delete(docs, at+"/droplet_id")

		// The document of the JSON field ip_address is named address.
		for path, doc := range docs {
			if folder, ok := strings.CutSuffix(path, "/ip_address"); ok {
				docs[folder+"/address"] = doc
				delete(docs, path)
			}
		}

		docs.leaves(at+"/id", in.number())
		docs.user(at+"/user-data", in)

		if len(in.UserData) > 0 {
			all["user_data"] = string(in.UserData)
		}

		docs["/metadata/v1.json"] = jsonDocument(all)

		for name := range in.Tags {
			docs.put(at+"/tags/", name, name)
		}

		return docs
	},
}
