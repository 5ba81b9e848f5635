// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"
	"net/http"
	"path"
)

// nocloud is a NoCloud seed over the network ("ds=nocloud;s=http://GATEWAY/"): four documents in any folder, since a
// seed's URL may have a path.
var nocloud = platform{
	name: NoCloud,
	render: func(in *Instance) tree {
		docs := tree{
			"meta-data":      yamlDocument(object{"instance-id": in.ID, "local-hostname": in.Name, "hostname": in.fqdn()}),
			"network-config": yamlDocument(netplan(in)),
			"vendor-data":    text(""),
		}
		docs.user("user-data", in)

		return docs
	},
	serve: func(w http.ResponseWriter, r *http.Request, _ *Instance, docs tree) bool {
		docs.serve(w, path.Base(r.URL.Path), false)

		return true
	},
}

// netplan returns cloud-init's network configuration, version 2.
func netplan(in *Instance) object {
	cards := object{}

	for i, card := range in.Cards {
		entry := object{"match": object{"macaddress": card.MAC.String()}}

		if card.MTU != 0 {
			entry["mtu"] = card.MTU
		}

		if len(card.Addrs) > 0 {
			entry["addresses"] = card.Addrs
		}

		var routes []object

		for _, router := range card.Routers {
			to := "0.0.0.0/0"
			if router.Is6() {
				to = "::/0"
			}

			routes = append(routes, object{"to": to, "via": router})
		}

		if len(routes) > 0 {
			entry["routes"] = routes
		}

		if i == 0 && len(in.DNS) > 0 {
			entry["nameservers"] = object{"addresses": in.DNS}
		}

		cards[fmt.Sprintf("eth%d", i)] = entry
	}

	return object{"version": 2, "ethernets": cards}
}
