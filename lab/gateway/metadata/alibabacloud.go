// SPDX-License-Identifier: Apache-2.0

package metadata

import "strings"

// alibabacloud is Alibaba Cloud's ECS metadata service in its normal mode, where tokens are optional.
var alibabacloud = platform{
	name:  "alibabacloud",
	addrs: addrs("100.100.100.200"),
	token: &tokenService{
		path: "/latest/api/token", ttlHeader: "X-aliyun-ecs-metadata-token-ttl-seconds", maxTTL: 21600,
		header: "X-aliyun-ecs-metadata-token", optional: true,
	},
	lists: true,
	serve: datedVersion,
	render: func(in *Instance) tree {
		const at = "/latest/meta-data"

		docs := tree{}
		docs.put(at, "/instance-id", in.ID, "/instance/instance-type", in.Type, "/instance/instance-name", in.Name,
			"/hostname", in.fqdn(), "/region-id", in.Region, "/zone-id", in.Zone, "/owner-account-id", in.Project,
			"/mac", in.Cards[0].MAC.String(), "/private-ipv4", in.ipv4(), "/eipv4", hostText(in.Public4),
			"/dns-conf/nameservers", strings.Join(in.dns(), "\n"))

		for _, card := range in.Cards {
			nic := at + "/network/interfaces/macs/" + card.MAC.String() + "/"
			if p, router := card.first(true); p.IsValid() {
				docs.put(nic, "primary-ip-address", p.Addr().String(), "netmask", netmask(p), "gateway", hostText(router),
					"vswitch-cidr-block", p.Masked().String())
			}

			if p, router := card.first(false); p.IsValid() {
				docs.put(nic, "ipv6s", "["+p.Addr().String()+"]", "ipv6-gateway", hostText(router))
			}
		}

		docs.user("/latest/user-data", in)
		docs["/latest/dynamic/instance-identity/document"] = jsonDocument(object{
			"instance-id": in.ID, "region-id": in.Region, "zone-id": in.Zone, "instance-type": in.Type,
			"private-ipv4": in.ipv4(), "mac": in.Cards[0].MAC.String(), "owner-account-id": in.Project,
		})

		return docs
	},
}
