// SPDX-License-Identifier: Apache-2.0

package cloud

import "strconv"

// upcloud is UpCloud. https://upcloud.com/docs/products/cloud-servers/features/metadata-service/
var upcloud = cloud{
	places:    at(everywhere),
	user:      []user{{path: "metadata/v1/user_data"}},
	documents: []string{"metadata/v1.json"},
	parse: func(docs documents, r *reader) Machine {
		var in upcloudMachine
		if !r.json(docs, "metadata/v1.json", &in) {
			return Machine{}
		}

		m := Machine{
			Hostname: in.Hostname, InstanceID: in.ID, Region: in.Region, Zone: in.Region, Resolvers: r.addrs("dns", in.Network.DNS),
		}

		if in.ID != "" {
			m.ProviderID = "upcloud:////" + in.ID
		}

		for _, tag := range in.Tags {
			m.tag(tag, "")
		}

		for _, card := range in.Network.Interfaces {
			link := Link{MAC: r.mac("mac", card.MAC)}
			if link.MAC == "" {
				continue
			}

			for _, ip := range card.Addresses {
				p := r.prefix("network", ip.Network)
				a := r.addr("address", ip.Address)

				if a.IsValid() && card.Type == "public" {
					m.External = append(m.External, a)
				}

				switch {
				case !a.IsValid() || ip.Floating && ip.DHCP:
				case ip.DHCP && a.Is4():
					link.DHCP4 = true
				case ip.DHCP:
					link.DHCP6 = true
				case p.IsValid() && p.Addr().Is4() == a.Is4():
					link.add(r.masked("address", ip.Address, strconv.Itoa(p.Bits())))

					if card.Type == "public" {
						link.defaultRoute(r.addr("gateway", ip.Gateway), 0)
					}
				default:
					link.add(single(a))
				}
			}

			m.Links = append(m.Links, link)
		}

		return m
	},
}

type upcloudMachine struct {
	ID       string   `json:"instance_id"`
	Hostname string   `json:"hostname"`
	Region   string   `json:"region"`
	Tags     []string `json:"tags"`
	Network  struct {
		Interfaces []struct {
			MAC       string `json:"mac"`
			Type      string `json:"type"`
			Addresses []struct {
				Address  string `json:"address"`
				Network  string `json:"network"`
				Gateway  string `json:"gateway"`
				DHCP     bool   `json:"dhcp"`
				Floating bool   `json:"floating"`
			} `json:"ip_addresses"`
		} `json:"interfaces"`
		DNS []string `json:"dns"`
	} `json:"network"`
}
