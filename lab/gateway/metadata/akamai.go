// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// akamai is Akamai's (Linode's) metadata service: texts of "name: value", or JSON for clients that accept it.
var akamai = platform{
	name:  "akamai",
	addrs: append(addrs("fd00:a9fe:a9fe::1"), everywhere),
	token: &tokenService{
		path: "/v1/token", ttlHeader: "Metadata-Token-Expiry-Seconds", maxTTL: 86400, header: "Metadata-Token",
	},
	render: func(in *Instance) tree {
		docs := tree{"/v1/user-data": text(base64Of(in.UserData))}
		if len(in.UserData) == 0 {
			delete(docs, "/v1/user-data")
		}

		return docs
	},
	serve: func(w http.ResponseWriter, r *http.Request, in *Instance, _ tree) bool {
		answers := map[string]object{"/v1/instance": akamaiInstance(in), "/v1/network": akamaiNetwork(in)}

		answer, ok := answers[r.URL.Path]
		if !ok || r.Method != http.MethodGet {
			return false
		}

		if strings.Contains(r.Header.Get("Accept"), "application/json") {
			jsonDocument(answer).write(w)

			return true
		}

		lines(flat("", answer)).write(w)

		return true
	},
}

func akamaiInstance(in *Instance) object {
	return object{
		"id": in.number(), "label": in.Name, "region": in.Region, "type": in.Type, "host_uuid": in.uuid(), "tags": slices.Sorted(maps.Keys(in.Tags)),
		"backups": object{"enabled": false, "status": ""}, "account_euuid": in.Project,
	}
}

func akamaiNetwork(in *Instance) object {
	cards := []object{}
	for i, card := range in.Cards {
		cards = append(cards, object{"id": i, "label": fmt.Sprintf("eth%d", i), "purpose": "public", "mac_address": card.MAC.String()})
	}

	ipv4 := object{"public": []string{}, "private": []string{}, "shared": []string{}}
	if p := in.Cards[0].addr4(); p.IsValid() {
		ipv4["public"] = []string{p.String()}
	}

	if in.Public4.IsValid() {
		ipv4["public"], ipv4["private"] = []string{in.Public4.String() + "/32"}, ipv4["public"]
	}

	ipv6 := object{"ranges": []string{}, "shared_ranges": []string{}, "link_local": "fe80::1/64"}
	if p := in.Cards[0].addr6(); p.IsValid() {
		ipv6["slaac"] = p.String()
	}

	return object{"interfaces": cards, "ipv4": ipv4, "ipv6": ipv6}
}
