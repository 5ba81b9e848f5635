// SPDX-License-Identifier: Apache-2.0

package cloud

// akamai is Akamai's (Linode's) metadata service. https://techdocs.akamai.com/cloud-computing/docs/metadata-service-api
var akamai = cloud{
	places:    at(everywhere, "http://[fd00:a9fe:a9fe::1]/"),
	header:    map[string]string{"Accept": "application/json"},
	token:     &token{"v1/token", "Metadata-Token-Expiry-Seconds", "600", "Metadata-Token"},
	user:      []user{{path: "v1/user-data", decode: fromBase64}},
	documents: []string{"v1/instance", "v1/network"},
	parse: func(docs documents, r *reader) Machine {
		var (
			in struct {
				ID     number   `json:"id"`
				Label  string   `json:"label"`
				Region string   `json:"region"`
				Type   string   `json:"type"`
				Tags   []string `json:"tags"`
			}
			network struct {
				Interfaces []struct {
					MAC     string `json:"mac_address"`
					Purpose string `json:"purpose"`
				} `json:"interfaces"`
				IPv4 struct {
					Public  []string `json:"public"`
					Private []string `json:"private"`
				} `json:"ipv4"`
				IPv6 struct {
					SLAAC string `json:"slaac"`
				} `json:"ipv6"`
			}
		)

		r.json(docs, "v1/instance", &in)
		r.json(docs, "v1/network", &network)

		m := Machine{Hostname: in.Label, Region: in.Region, InstanceType: in.Type, InstanceID: in.ID.String()}
		if m.InstanceID != "" {
			m.ProviderID = "linode://" + m.InstanceID
		}

		for _, tag := range in.Tags {
			m.tag(tag, "")
		}

		m.External = append(r.addrs("public", network.IPv4.Public), r.addrs("slaac", []string{network.IPv6.SLAAC})...)

		// The first public card gets its public addresses from DHCP and routers. It has the private ones, too.
		for _, card := range network.Interfaces {
			mac := r.mac("mac_address", card.MAC)
			if mac == "" || card.Purpose != "" && card.Purpose != "public" {
				continue
			}

			link := Link{MAC: mac, DHCP4: true}
			for _, text := range network.IPv4.Private {
				link.add(r.prefix("private", text))
			}

			m.Links = append(m.Links, link)

			break
		}

		return m
	},
}
