// SPDX-License-Identifier: Apache-2.0

package cloud

// digitalOcean is DigitalOcean. https://docs.digitalocean.com/reference/api/metadata/
var digitalOcean = cloud{
	places:    at(everywhere),
	user:      []user{{path: "metadata/v1/user-data"}},
	documents: []string{"metadata/v1.json"},
	parse: func(docs documents, r *reader) Machine {
		var in droplet
		if !r.json(docs, "metadata/v1.json", &in) {
			return Machine{}
		}

		m := Machine{Hostname: in.Hostname, InstanceID: in.ID.String(), Region: in.Region, Resolvers: r.addrs("dns", in.DNS.NameServers)}
		if m.InstanceID != "" {
			m.ProviderID = "digitalocean://" + m.InstanceID
		}

		for _, tag := range in.Tags {
			m.tag(tag, "")
		}

		for i, card := range in.Interfaces.Public {
			m.Links = append(m.Links, card.link(r, in.Features.DHCP && i == 0, true))

			if a := r.addr("ip_address", card.IPv4.Address); a.IsValid() {
				m.External = append(m.External, a)
			}
		}

		for _, card := range in.Interfaces.Private {
			m.Links = append(m.Links, card.link(r, false, false))
		}

		return m
	},
}

type droplet struct {
	ID         number   `json:"droplet_id"`
	Hostname   string   `json:"hostname"`
	Region     string   `json:"region"`
	Tags       []string `json:"tags"`
	Interfaces struct {
		Public  []dropletCard `json:"public"`
		Private []dropletCard `json:"private"`
	} `json:"interfaces"`
	DNS struct {
		NameServers []string `json:"nameservers"`
	} `json:"dns"`
	Features struct {
		DHCP bool `json:"dhcp_enabled"`
	} `json:"features"`
}

type dropletCard struct {
	MAC    string         `json:"mac"`
	IPv4   dropletAddress `json:"ipv4"`
	IPv6   dropletAddress `json:"ipv6"`
	Anchor dropletAddress `json:"anchor_ipv4"`
}

type dropletAddress struct {
	Address string `json:"ip_address"`
	Netmask string `json:"netmask"`
	CIDR    number `json:"cidr"`
	Gateway string `json:"gateway"`
}

// link returns a card. Only the public network has a way out.
func (c *dropletCard) link(r *reader, dhcp, public bool) Link {
	link := Link{MAC: r.mac("mac", c.MAC), DHCP4: dhcp}

	for _, a := range []struct {
		dropletAddress

		mask          string
		skip, gateway bool
	}{
		{c.IPv4, c.IPv4.Netmask, dhcp, public},
		{c.Anchor, c.Anchor.Netmask, dhcp, false},
		{c.IPv6, c.IPv6.CIDR.String(), false, public},
	} {
		if a.skip || a.Address == "" {
			continue
		}

		link.add(r.masked("ip_address", a.Address, a.mask))

		if a.gateway {
			link.defaultRoute(r.addr("gateway", a.Gateway), 0)
		}
	}

	return link
}
