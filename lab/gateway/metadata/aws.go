// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// aws is EC2's instance metadata service, version 2: each request needs a token.
var aws = platform{
	name:  "aws",
	addrs: append(addrs("fd00:ec2::254"), everywhere),
	token: &tokenService{
		path: "/latest/api/token", ttlHeader: "X-aws-ec2-metadata-token-ttl-seconds", maxTTL: 21600,
		header: "X-aws-ec2-metadata-token",
	},
	lists: true,
	serve: datedVersion,
	render: func(in *Instance) tree {
		docs := ec2Tree(in, "/latest/meta-data")
		docs.user("/latest/user-data", in)
		docs["/latest/dynamic/instance-identity/document"] = jsonDocument(object{
			"version": "2017-09-30", "instanceId": in.ID, "region": in.Region, "availabilityZone": in.Zone,
			"instanceType": in.Type, "privateIp": in.ipv4(), "accountId": in.Project, "architecture": "x86_64",
		})

		docs.put("/latest/meta-data/", "ipv6", in.ipv6(), "placement/region", in.Region, "instance-life-cycle", "on-demand")

		for name, value := range in.Tags {
			docs.put("/latest/meta-data/tags/instance/", name, value)
		}

		for i, card := range in.Cards {
			at := "/latest/meta-data/network/interfaces/macs/" + card.MAC.String() + "/"
			docs.put(at, "device-number", strconv.Itoa(i), "mac", card.MAC.String(), "local-ipv4s", addrText(card.addr4()),
				"ipv6s", addrText(card.addr6()), "subnet-ipv4-cidr-block", subnetText(card.addr4()),
				"subnet-ipv6-cidr-blocks", subnetText(card.addr6()))
		}

		return docs
	},
}

// ec2Tree returns the documents of clouds that copy EC2's paths.
func ec2Tree(in *Instance, at string) tree {
	docs := tree{}
	docs.put(at, "/instance-id", in.ID, "/instance-type", in.Type, "/hostname", in.fqdn(), "/local-hostname", in.fqdn(),
		"/local-ipv4", in.ipv4(), "/public-ipv4", hostText(in.Public4), "/mac", in.Cards[0].MAC.String(),
		"/placement/availability-zone", in.Zone)

	return docs
}

// user adds the machine configuration, if there is one.
func (t tree) user(path string, in *Instance) {
	if len(in.UserData) > 0 {
		t[path] = octets(in.UserData)
	}
}

var dated = regexp.MustCompile(`^/(\d{4}-\d\d-\d\d|1\.0)(/|$)`)

// datedVersion answers requests for EC2's older versions, whose names are dates, as for the latest.
func datedVersion(w http.ResponseWriter, r *http.Request, _ *Instance, docs tree) bool {
	version := dated.FindString(r.URL.Path)
	if version == "" {
		return false
	}

	docs.serve(w, "/latest/"+strings.TrimPrefix(r.URL.Path, version), true)

	return true
}
