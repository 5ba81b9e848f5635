// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"
	"net/http"
)

// oracle is Oracle Cloud's instance metadata service: version 2, and the older one, which needs no header.
var oracle = platform{
	name:  "oracle",
	addrs: append(addrs("fd00:c1::a9fe:a9fe"), everywhere),
	refuse: func(r *http.Request) (int, string) {
		if dirIs(r.URL.Path, "/opc/v2") && r.Header.Get("Authorization") != "Bearer Oracle" {
			return http.StatusForbidden, "Forbidden"
		}

		return 0, ""
	},
	render: func(in *Instance) tree {
		metadata := in.tags()
		if len(in.UserData) > 0 {
			metadata["user_data"] = base64Of(in.UserData)
		}

		instance := object{
			"id": in.ID, "displayName": in.Name, "hostname": in.Name, "shape": in.Type, "compartmentId": in.Project,
			"region": in.Region, "canonicalRegionName": in.Region, "availabilityDomain": in.Zone,
			"faultDomain": "FAULT-DOMAIN-1", "state": "Running", "metadata": metadata,
		}

		var vnics []object

		for i, card := range in.Cards {
			vnic := object{"vnicId": fmt.Sprintf("%s.vnic%d", in.ID, i), "macAddr": card.MAC.String(), "nicIndex": i, "vlanTag": 0}
			if p, router := card.first(true); p.IsValid() {
				vnic["privateIp"], vnic["subnetCidrBlock"], vnic["virtualRouterIp"] = p.Addr().String(), p.Masked().String(), hostText(router)
			}

			if p, router := card.first(false); p.IsValid() {
				vnic["ipv6Addresses"], vnic["ipv6SubnetCidrBlock"] = []string{p.Addr().String()}, p.Masked().String()
				vnic["ipv6VirtualRouterIp"] = hostText(router)
			}

			vnics = append(vnics, vnic)
		}

		docs := tree{}
		for _, version := range []string{"/opc/v1", "/opc/v2"} {
			docs.leaves(version+"/instance", instance)
			docs[version+"/instance"] = jsonDocument(instance)
			docs[version+"/instance/metadata"] = jsonDocument(metadata)
			docs[version+"/vnics"] = jsonDocument(vnics)
		}

		return docs
	},
}
