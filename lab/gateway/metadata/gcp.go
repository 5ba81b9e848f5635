// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
)

const gcpHeader = "Metadata-Flavor"

// gcp is Google Compute Engine's metadata server.
var gcp = platform{
	name:  "gcp",
	addrs: append(addrs("fd20:ce::254"), everywhere),
	names: []string{"metadata.google.internal", "metadata"},
	lists: true,
	refuse: func(r *http.Request) (int, string) {
		if r.URL.Path != "/" && (r.Header.Get(gcpHeader) != "Google" || r.Header.Get("X-Forwarded-For") != "") {
			return http.StatusForbidden, "Missing Metadata-Flavor:Google header."
		}

		return 0, ""
	},
	render: func(in *Instance) tree {
		docs := tree{}
		docs.leaves(gcpRoot, gcpMetadata(in))
		docs.user(gcpRoot+"/instance/attributes/user-data", in)

		return docs
	},
	serve: func(w http.ResponseWriter, r *http.Request, in *Instance, docs tree) bool {
		w.Header().Set(gcpHeader, "Google")

		if recursive, _ := strconv.ParseBool(r.URL.Query().Get("recursive")); !recursive {
			return false
		}

		all := gcpMetadata(in)
		if len(in.UserData) > 0 {
			all["instance"].(object)["attributes"] = object{"user-data": string(in.UserData)}
		}

		path := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, gcpRoot), "/"), "/")
		if part, ok := dig(all, path); ok {
			jsonDocument(camelKeys(part)).write(w)

			return true
		}

		return false
	},
}

const gcpRoot = "/computeMetadata/v1"

func gcpMetadata(in *Instance) object {
	project := cmp.Or(in.Project, "000000000000")

	var cards []object

	for _, card := range in.Cards {
		addr, router := card.first(true)
		entry := object{
			"mac": card.MAC.String(), "mtu": card.MTU, "network": "projects/" + project + "/networks/default",
			"dns-servers": in.dns(),
		}

		if addr.IsValid() {
			entry["ip"], entry["subnetmask"], entry["gateway"] = addr.Addr().String(), netmask(addr), hostText(router)
		}

		if addr, router := card.first(false); addr.IsValid() {
			entry["ipv6s"], entry["gateway-ipv6"] = []string{addr.Addr().String()}, hostText(router)
		}

		cards = append(cards, entry)
	}

	if in.Public4.IsValid() {
		cards[0]["access-configs"] = []object{{"external-ip": in.Public4.String(), "type": "ONE_TO_ONE_NAT"}}
	}

	return object{
		"project": object{"project-id": project, "numeric-project-id": project},
		"instance": object{
			"id": in.number(), "name": in.Name, "hostname": in.fqdn(),
			"zone":               "projects/" + project + "/zones/" + in.Zone,
			"machine-type":       "projects/" + project + "/machineTypes/" + in.Type,
			"scheduling":         object{"preemptible": "FALSE", "automatic-restart": "TRUE"},
			"network-interfaces": cards,
		},
	}
}

// dig returns the value at a path of nested objects and lists.
func dig(v any, path []string) (any, bool) {
	for _, name := range path {
		if name == "" {
			continue
		}

		switch at := v.(type) {
		case object:
			found := false
			for key, below := range at {
				if key == name || camelName(key) == name {
					v, found = below, true
				}
			}

			if !found {
				return nil, false
			}
		case []object:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}

			v = at[i]
		default:
			return nil, false
		}
	}

	return v, true
}

// camelName returns a path's name in the form of the recursive JSON.
func camelName(name string) string {
	words := strings.Split(name, "-")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}

	return strings.Join(words, "")
}

// camelKeys renames all fields but the attributes, whose names the user has chosen.
func camelKeys(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for key, below := range v {
			if key == "attributes" {
				out[key] = below
			} else {
				out[camelName(key)] = camelKeys(below)
			}
		}

		return out
	case []object:
		out := []any{}
		for _, below := range v {
			out = append(out, camelKeys(below))
		}

		return out
	}

	return v
}
