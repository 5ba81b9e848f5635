// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"cmp"
	"net/url"
	"strings"
)

// aws is EC2. Requests need a token of version 2 of its metadata service.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-categories.html
var aws = cloud{
	places: at(everywhere, "http://[fd00:ec2::254]/"),
	token:  &token{"latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds", "600", "X-aws-ec2-metadata-token"},
	user:   []user{{path: "latest/user-data"}},
	documents: []string{
		ec2 + "instance-id", ec2 + "instance-type", ec2 + "hostname", ec2 + "local-hostname", ec2 + "public-hostname", ec2 + "public-ipv4",
		ec2 + "placement/region", ec2 + "placement/availability-zone", ec2 + "instance-life-cycle", ec2Tags,
	},
	more: func(docs documents) (paths []string) {
		for _, name := range names(docs[ec2Tags]) {
			if len(paths) == ec2MaxTags {
				break
			}

			paths = append(paths, ec2Tags+url.PathEscape(name))
		}

		return paths
	},
	parse: func(docs documents, r *reader) Machine {
		m := readEC2(docs, r)
		m.Region, m.Spot = docs.text(ec2+"placement/region"), docs.text(ec2+"instance-life-cycle") == "spot"
		m.ExternalDNS = docs.text(ec2 + "public-hostname")

		if m.InstanceID != "" {
			m.ProviderID = "aws:///" + m.Zone + "/" + m.InstanceID
		}

		for _, name := range names(docs[ec2Tags]) {
			if value, ok := docs[ec2Tags+url.PathEscape(name)]; ok {
				m.tag(name, string(value))
			}
		}

		return m
	},
}

const (
	ec2     = "latest/meta-data/"
	ec2Tags = ec2 + "tags/instance/"
	// ec2MaxTags is how many tags a machine can have; each is a document.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html
	ec2MaxTags = 50
)

// readEC2 reads the documents of clouds that have EC2's paths.
func readEC2(docs documents, r *reader) Machine {
	m := Machine{
		InstanceID: docs.text(ec2 + "instance-id"), InstanceType: docs.text(ec2 + "instance-type"), Zone: docs.text(ec2 + "placement/availability-zone"),
		Hostname:    cmp.Or(docs.text(ec2+"hostname"), docs.text(ec2+"local-hostname")),
		InternalDNS: docs.text(ec2 + "local-hostname"),
	}

	if a := r.addr("public-ipv4", docs.text(ec2+"public-ipv4")); a.IsValid() {
		m.External = append(m.External, a)
	}

	return m
}

// tag adds a tag.
func (m *Machine) tag(name, value string) {
	if m.Tags == nil {
		m.Tags = map[string]string{}
	}

	m.Tags[name] = strings.TrimSpace(value)
}
