// SPDX-License-Identifier: Apache-2.0

package cloud

import "net/netip"

// equinixMetal is Equinix Metal. https://deploy.equinix.com/developers/docs/metal/server-metadata/metadata/
var equinixMetal = cloud{
	places:    at("https://metadata.platformequinix.com/"),
	user:      []user{{path: "userdata"}},
	documents: []string{"metadata"},
	parse: func(docs documents, r *reader) Machine {
		var in equinixMachine
		if !r.json(docs, "metadata", &in) {
			return Machine{}
		}

		m := Machine{Hostname: in.Hostname, Region: in.Metro, Zone: in.Facility, InstanceType: in.Plan, InstanceID: in.ID}
		if in.ID != "" {
			m.ProviderID = "equinixmetal://" + in.ID
		}

		for _, tag := range in.Tags {
			m.tag(tag, "")
		}

		m.Links = append(m.Links, in.bond(r))

		for _, a := range in.Network.Addresses {
			if public := r.addr("address", a.Address); a.Public && a.Enabled && public.IsValid() {
				m.External = append(m.External, public)
			}
		}

		return m
	},
}

type equinixMachine struct {
	ID       string   `json:"id"`
	Hostname string   `json:"hostname"`
	Plan     string   `json:"plan"`
	Metro    string   `json:"metro"`
	Facility string   `json:"facility"`
	Tags     []string `json:"tags"`
	Network  struct {
		Bonding struct {
			Mode int `json:"mode"`
		} `json:"bonding"`
		Interfaces []struct {
			Name string `json:"name"`
			MAC  string `json:"mac"`
			Bond string `json:"bond"`
		} `json:"interfaces"`
		Addresses []struct {
			Address string `json:"address"`
			CIDR    number `json:"cidr"`
			Gateway string `json:"gateway"`
			Public  bool   `json:"public"`
			Enabled bool   `json:"enabled"`
			Family  int    `json:"address_family"`
		} `json:"addresses"`
	} `json:"network"`
	PrivateSubnets []string `json:"private_subnets"`
}

// bondModes are the kernel's names, by its numbers.
var bondModes = []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}

// bond returns bond0, which has all addresses. The private ones reach the private subnets only.
func (in *equinixMachine) bond(r *reader) Link {
	mode := bondModes[4]
	if n := in.Network.Bonding.Mode; n >= 0 && n < len(bondModes) {
		mode = bondModes[n]
	}

	link := Link{Name: "bond0", Bond: &Bond{Mode: mode, HashPolicy: "layer3+4", MIIMon: 100}}

	for _, card := range in.Network.Interfaces {
		if mac := r.mac(card.Name, card.MAC); mac != "" && (card.Bond == "" || card.Bond == "bond0") {
			link.Bond.Links = append(link.Bond.Links, mac)
		}
	}

	for _, a := range in.Network.Addresses {
		if !a.Enabled {
			continue
		}

		link.add(r.masked("address", a.Address, a.CIDR.String()))

		gateway := r.addr("gateway", a.Gateway)
		if a.Public {
			link.defaultRoute(gateway, 0)

			continue
		}

		for _, subnet := range in.PrivateSubnets {
			if p := r.prefix("private_subnets", subnet); p.IsValid() && gateway.IsValid() && p.Addr().Is4() == gateway.Is4() {
				link.Routes = append(link.Routes, Route{Destination: p.Masked(), Gateway: gateway})
			}
		}
	}

	link.Addresses = distinct(link.Addresses)

	return link
}

func distinct(prefixes []netip.Prefix) (out []netip.Prefix) {
	seen := map[netip.Prefix]bool{}

	for _, p := range prefixes {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}

	return out
}
