// SPDX-License-Identifier: Apache-2.0

package cloud

// scaleway is Scaleway, which sends the configuration only to ports below 1024.
// https://www.scaleway.com/en/docs/instances/how-to/use-cloud-init/
var scaleway = cloud{
	places:    at("http://169.254.42.42/", "http://[fd00:42::42]/"),
	user:      []user{{path: "user_data/cloud-init"}},
	lowPort:   true,
	documents: []string{scalewayConf},
	parse: func(docs documents, r *reader) Machine {
		var in scalewayMachine
		if !r.json(docs, scalewayConf, &in) {
			return Machine{}
		}

		m := Machine{
			Hostname: in.Hostname, InstanceID: in.ID, InstanceType: in.Type, Zone: in.Location.Zone, Region: in.Location.Zone,
		}

		// A region is the zone without its number: fr-par-1 is in fr-par.
		if n := len(m.Zone); n > 2 && m.Zone[n-2] == '-' {
			m.Region = m.Zone[:n-2]
		}

		if in.ID != "" {
			m.ProviderID = "scaleway://instance/" + m.Zone + "/" + in.ID
		}

		for _, tag := range in.Tags {
			m.tag(tag, "")
		}

		// The public card has no hardware address here. It is the first one.
		public := Link{First: true, DHCP4: true}

		for _, ip := range in.PublicIPs {
			a := r.addr("address", ip.Address)
			if !a.IsValid() {
				continue
			}

			m.External = append(m.External, a)

			if a.Is6() {
				public.add(r.masked("address", ip.Address, ip.Netmask.String()))
				public.defaultRoute(r.addr("gateway", ip.Gateway), 0)
			}
		}

		m.Links = append(m.Links, public)

		for _, nic := range in.PrivateNICs {
			if mac := r.mac("mac_address", nic.MAC); mac != "" {
				m.Links = append(m.Links, Link{MAC: mac, DHCP4: true})
			}
		}

		return m
	},
}

const scalewayConf = "conf?format=json"

type scalewayMachine struct {
	ID       string   `json:"id"`
	Hostname string   `json:"hostname"`
	Type     string   `json:"commercial_type"`
	Tags     []string `json:"tags"`
	Location struct {
		Zone string `json:"zone_id"`
	} `json:"location"`
	PublicIPs []struct {
		Address string `json:"address"`
		Netmask number `json:"netmask"`
		Gateway string `json:"gateway"`
	} `json:"public_ips"`
	PrivateNICs []struct {
		MAC string `json:"mac_address"`
	} `json:"private_nics"`
}
