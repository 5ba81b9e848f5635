// SPDX-License-Identifier: Apache-2.0

package cloud

import "strings"

// cloudstack is the virtual router of an Apache CloudStack network, whose DNS server has the name data-server.
// https://docs.cloudstack.apache.org/en/latest/adminguide/virtual_machines/user-data.html
var cloudstack = cloud{
	places:    at("http://data-server/"),
	user:      []user{{path: "latest/user-data"}},
	documents: stackDocuments,
	parse:     func(docs documents, r *reader) Machine { return readStack("cloudstack", docs, r) },
}

// exoscale is Exoscale, which has CloudStack's documents at another address.
var exoscale = cloud{
	places:    at(everywhere),
	user:      []user{{path: "latest/user-data"}},
	documents: stackDocuments,
	parse:     func(docs documents, r *reader) Machine { return readStack("exoscale", docs, r) },
}

var stackDocuments = []string{
	ec2 + "instance-id", ec2 + "vm-id", ec2 + "local-hostname", ec2 + "public-hostname", ec2 + "public-ipv4", ec2 + "service-offering",
	ec2 + "availability-zone",
}

func readStack(provider string, docs documents, r *reader) Machine {
	m := readEC2(docs, r)
	m.InstanceType, m.Zone = docs.text(ec2+"service-offering"), docs.text(ec2+"availability-zone")
	m.ExternalDNS = docs.text(ec2 + "public-hostname")

	if id := docs.text(ec2 + "vm-id"); id != "" {
		m.InstanceID = id
	}

	if m.InstanceID != "" {
		m.ProviderID = provider + "://" + m.InstanceID
	}

	return m
}

// alibabacloud is Alibaba Cloud's ECS. https://www.alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata
var alibabacloud = cloud{
	places: at("http://100.100.100.200/"),
	token:  &token{"latest/api/token", "X-aliyun-ecs-metadata-token-ttl-seconds", "600", "X-aliyun-ecs-metadata-token"},
	user:   []user{{path: "latest/user-data"}},
	documents: []string{
		ec2 + "instance-id", ec2 + "instance/instance-type", ec2 + "hostname", ec2 + "region-id", ec2 + "zone-id", ec2 + "eipv4",
		ec2 + "dns-conf/nameservers",
	},
	parse: func(docs documents, r *reader) Machine {
		m := Machine{
			InstanceID: docs.text(ec2 + "instance-id"), InstanceType: docs.text(ec2 + "instance/instance-type"), Hostname: docs.text(ec2 + "hostname"),
			Region: docs.text(ec2 + "region-id"), Zone: docs.text(ec2 + "zone-id"),
			Resolvers: r.addrs("nameservers", strings.Fields(docs.text(ec2+"dns-conf/nameservers"))),
		}

		if a := r.addr("eipv4", docs.text(ec2+"eipv4")); a.IsValid() {
			m.External = append(m.External, a)
		}

		return m
	},
}
