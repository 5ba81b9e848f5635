// SPDX-License-Identifier: Apache-2.0

package cloud

// hcloud is Hetzner Cloud. https://docs.hetzner.cloud/reference/cloud#server-metadata
var hcloud = cloud{
	places: at(everywhere),
	user:   []user{{path: "hetzner/v1/userdata"}},
	documents: []string{
		hcloudRoot + "instance-id", hcloudRoot + "hostname", hcloudRoot + "region", hcloudRoot + "availability-zone", hcloudRoot + "public-ipv4",
		hcloudRoot + "network-config", hcloudRoot + "private-networks",
	},
	parse: func(docs documents, r *reader) Machine {
		m := Machine{
			InstanceID: docs.text(hcloudRoot + "instance-id"), Hostname: docs.text(hcloudRoot + "hostname"),
			Region: docs.text(hcloudRoot + "region"), Zone: docs.text(hcloudRoot + "availability-zone"),
		}

		if m.InstanceID != "" {
			m.ProviderID = "hcloud://" + m.InstanceID
		}

		if a := r.addr("public-ipv4", docs.text(hcloudRoot+"public-ipv4")); a.IsValid() {
			m.External = append(m.External, a)
		}

		var network networkConfig
		if r.yaml(docs, hcloudRoot+"network-config", &network) {
			network.read(&m, r)
		}

		var private []struct {
			MAC string `yaml:"mac_address"`
		}

		r.yaml(docs, hcloudRoot+"private-networks", &private)

		for _, p := range private {
			if mac := r.mac("private-networks", p.MAC); mac != "" {
				m.Links = append(m.Links, Link{MAC: mac, DHCP4: true})
			}
		}

		return m
	},
}

const hcloudRoot = "hetzner/v1/metadata/"
