// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"net/http"
	"net/netip"
	"strings"
)

// privilegedPorts are ports that only privileged programs can use.
const privilegedPorts = 1024

// scaleway is Scaleway's metadata API. It sends user data only to requests from a privileged port.
var scaleway = platform{
	name:  "scaleway",
	addrs: addrs("169.254.42.42", "fd00:42::42"),
	refuse: func(r *http.Request) (int, string) {
		client, err := netip.ParseAddrPort(r.RemoteAddr)
		if dirIs(r.URL.Path, "/user_data") && (err != nil || client.Port() >= privilegedPorts) {
			return http.StatusForbidden, `{"message": "Source port must be below 1024", "type": "forbidden"}`
		}

		return 0, ""
	},
	render: func(in *Instance) tree {
		docs := tree{"/conf": lines(scalewayLines(in)), "/user_data": text(""), "/user_data/": text("")}

		if len(in.UserData) > 0 {
			docs["/user_data"] = jsonDocument(object{"user_data": []string{"cloud-init"}})
			docs.user("/user_data/cloud-init", in)
		}

		return docs
	},
	serve: func(w http.ResponseWriter, r *http.Request, in *Instance, _ tree) bool {
		if r.URL.Path != "/conf" || r.URL.Query().Get("format") != "json" {
			return false
		}

		jsonDocument(scalewayConf(in)).write(w)

		return true
	},
}

func scalewayConf(in *Instance) object {
	public := []object{}

	for _, is4 := range []bool{true, false} {
		p, router := in.Cards[0].first(is4)
		if !p.IsValid() {
			continue
		}

		family, bits := "inet", p.Bits()
		if !is4 {
			family = "inet6"
		}

		public = append(public, object{
			"address": p.Addr().String(), "netmask": bits, "gateway": hostText(router), "family": family,
			"dynamic": false, "provisioning_mode": "dhcp", "id": in.uuid(),
		})
	}

	conf := object{
		"id": in.uuid(), "name": in.Name, "hostname": in.Name, "organization": in.Project, "project": in.Project,
		"commercial_type": in.Type, "tags": []string{}, "private_ip": in.ipv4(), "public_ips": public,
		"location": object{"zone_id": in.Zone, "platform_id": in.Region}, "private_nics": scalewayNICs(in),
	}

	if len(public) > 0 {
		conf["public_ip"] = public[0]
	}

	return conf
}

func scalewayNICs(in *Instance) []object {
	nics := []object{}
	for _, card := range in.Cards[1:] {
		nics = append(nics, object{"mac_address": card.MAC.String(), "id": in.uuid()})
	}

	return nics
}

// scalewayLines returns shell assignments.
func scalewayLines(in *Instance) []string {
	var out []string

	for _, line := range flat("", scalewayConf(in)) {
		name, value, _ := strings.Cut(line, ": ")
		out = append(out, strings.ToUpper(strings.ReplaceAll(name, ".", "_"))+"="+value)
	}

	return out
}
