// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"
	"net/http"
	"strings"
)

// openstack is Nova's metadata service, with its copy of EC2's paths.
var openstack = platform{
	name:  "openstack",
	addrs: append(addrs("fe80::a9fe:a9fe"), everywhere),
	lists: true,
	render: func(in *Instance) tree {
		docs := ec2Tree(in, "/latest/meta-data")
		docs.user("/latest/user-data", in)

		meta := object{
			"uuid": in.uuid(), "name": in.Name, "hostname": in.fqdn(), "availability_zone": in.Zone, "launch_index": 0,
			"project_id": in.Project, "meta": in.tags(),
		}

		docs["/openstack/latest/meta_data.json"] = jsonDocument(meta)
		docs["/openstack/latest/network_data.json"] = jsonDocument(networkData(in))
		docs["/openstack/latest/vendor_data.json"] = jsonDocument(object{})
		docs["/openstack"] = lines([]string{"2012-08-10", "2013-04-04", "2015-10-15", "2018-08-27", "latest"})
		docs.user("/openstack/latest/user_data", in)

		return docs
	},
	serve: func(w http.ResponseWriter, r *http.Request, in *Instance, docs tree) bool {
		if rest, ok := strings.CutPrefix(r.URL.Path, "/openstack"); ok && dated.MatchString(rest) {
			docs.serve(w, "/openstack/latest/"+strings.TrimPrefix(rest, dated.FindString(rest)), true)

			return true
		}

		return datedVersion(w, r, in, docs)
	},
}

// networkData returns OpenStack's description of cards, networks and DNS servers.
func networkData(in *Instance) object {
	links, networks, services := []object{}, []object{}, []object{}

	for i, card := range in.Cards {
		link := fmt.Sprintf("tap%d", i)
		links = append(links, object{
			"id": link, "type": "phy", "ethernet_mac_address": card.MAC.String(), "mtu": card.MTU, "vif_id": link,
		})

		for n, p := range card.Addrs {
			kind, world := "ipv4", "0.0.0.0"
			if p.Addr().Is6() {
				kind, world = "ipv6", "::"
			}

			routes := []object{}
			if _, router := card.first(p.Addr().Is4()); router.IsValid() {
				routes = append(routes, object{"network": world, "netmask": world, "gateway": router.String()})
			}

			networks = append(networks, object{
				"id": fmt.Sprintf("network%d.%d", i, n), "link": link, "type": kind, "ip_address": p.Addr().String(),
				"netmask": netmask(p), "routes": routes, "network_id": fmt.Sprintf("network%d", i),
			})
		}
	}

	for _, addr := range in.dns() {
		services = append(services, object{"type": "dns", "address": addr})
	}

	return object{"links": links, "networks": networks, "services": services}
}
