// SPDX-License-Identifier: Apache-2.0

package metadata

import "strings"

// alibabacloud is Alibaba Cloud's ECS metadata service in its normal mode, where
// a token is taken but not asked for.
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
		docs.put(at+"/instance-id", in.ID)
		docs.put(at+"/instance/instance-type", in.Type)
		docs.put(at+"/instance/instance-name", in.Name)
		docs.put(at+"/hostname", in.fqdn())
		docs.put(at+"/region-id", in.Region)
		docs.put(at+"/zone-id", in.Zone)
		docs.put(at+"/owner-account-id", in.Project)
		docs.put(at+"/mac", in.Cards[0].MAC.String())
		docs.put(at+"/private-ipv4", in.ipv4())
		docs.put(at+"/eipv4", hostText(in.Public4))
		docs.put(at+"/dns-conf/nameservers", strings.Join(in.dns(), "\n"))

		for _, card := range in.Cards {
			nic := at + "/network/interfaces/macs/" + card.MAC.String() + "/"
			if p, router := card.first(true); p.IsValid() {
				docs.put(nic+"primary-ip-address", p.Addr().String())
				docs.put(nic+"netmask", netmask(p))
				docs.put(nic+"gateway", hostText(router))
				docs.put(nic+"vswitch-cidr-block", p.Masked().String())
			}

			if p, router := card.first(false); p.IsValid() {
				docs.put(nic+"ipv6s", "["+p.Addr().String()+"]")
				docs.put(nic+"ipv6-gateway", hostText(router))
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
