// SPDX-License-Identifier: Apache-2.0

package cloud

// vultr is Vultr. https://www.vultr.com/metadata/
var vultr = cloud{
	places:    at(everywhere),
	user:      []user{{path: "latest/user-data"}},
	documents: []string{"v1.json"},
	parse: func(docs documents, r *reader) Machine {
		var in vultrMachine
		if !r.json(docs, "v1.json", &in) {
			return Machine{}
		}

		m := Machine{Hostname: in.Hostname, InstanceID: in.ID, Region: in.Region.Code}
		if m.InstanceID == "" {
			m.InstanceID = in.OldID
		}

		if m.InstanceID != "" {
			m.ProviderID = "vultr://" + m.InstanceID
		}

		for _, card := range in.Interfaces {
			link := Link{MAC: r.mac("mac", card.MAC)}
			if link.MAC == "" {
				continue
			}

			a := r.masked("address", card.IPv4.Address, card.IPv4.Netmask)

			switch {
			case card.Type == "public": // routers advertise its addresses of IPv6
				link.DHCP4 = true

				if a.IsValid() {
					m.External = append(m.External, a.Addr())
				}
			case a.IsValid():
				link.MTU = vultrPrivateMTU
				link.add(a)
			default:
				continue
			}

			m.Links = append(m.Links, link)
		}

		return m
	},
}

// vultrPrivateMTU is that of private networks. https://docs.vultr.com/how-to-configure-a-private-network-at-vultr
const vultrPrivateMTU = 1450

type vultrMachine struct {
	Hostname string `json:"hostname"`
	ID       string `json:"instance-v2-id"`
	OldID    string `json:"instanceid"`
	Region   struct {
		Code string `json:"regioncode"`
	} `json:"region"`
	Interfaces []struct {
		MAC  string `json:"mac"`
		Type string `json:"network-type"`
		IPv4 struct {
			Address string `json:"address"`
			Netmask string `json:"netmask"`
		} `json:"ipv4"`
	} `json:"interfaces"`
}
