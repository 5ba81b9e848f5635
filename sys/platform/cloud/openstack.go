// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
)

// openstack is Nova's metadata service, or its config drive. https://docs.openstack.org/nova/latest/user/metadata.html
var openstack = cloud{
	places:    at("volume://config-2/", everywhere),
	user:      []user{{path: "openstack/latest/user_data"}},
	documents: []string{novaMeta, novaNetwork, ec2 + "instance-type", ec2 + "public-ipv4", ec2 + "public-hostname"},
	parse: func(docs documents, r *reader) Machine {
		var meta struct {
			UUID     string            `json:"uuid"`
			Hostname string            `json:"hostname"`
			Zone     string            `json:"availability_zone"`
			Project  string            `json:"project_id"`
			Meta     map[string]string `json:"meta"`
		}

		r.json(docs, novaMeta, &meta)

		m := Machine{
			Hostname: meta.Hostname, Zone: meta.Zone, InstanceID: meta.UUID, InstanceType: docs.text(ec2 + "instance-type"), Tags: meta.Meta,
			ExternalDNS: docs.text(ec2 + "public-hostname"),
		}

		if m.InstanceID != "" {
			m.ProviderID = "openstack:///" + m.InstanceID
		}

		if a := r.addr("public-ipv4", docs.text(ec2+"public-ipv4")); a.IsValid() {
			m.External = append(m.External, a)
		}

		var network novaNetworkData
		if r.json(docs, novaNetwork, &network) {
			network.read(&m, r)
		}

		return m
	},
}

const (
	novaMeta    = "openstack/latest/meta_data.json"
	novaNetwork = "openstack/latest/network_data.json"
)

type novaNetworkData struct {
	Links []struct {
		ID        string   `json:"id"`
		Type      string   `json:"type"`
		MAC       string   `json:"ethernet_mac_address"`
		MTU       uint32   `json:"mtu"`
		BondMode  string   `json:"bond_mode"`
		BondLinks []string `json:"bond_links"`
		BondHash  string   `json:"bond_xmit_hash_policy"`
		BondMIIM  number   `json:"bond_miimon"`
		VLANID    uint16   `json:"vlan_id"`
		VLANLink  string   `json:"vlan_link"`
	} `json:"links"`
	Networks []novaNetworkEntry `json:"networks"`
	Services []struct {
		Type    string `json:"type"`
		Address string `json:"address"`
	} `json:"services"`
}

type novaNetworkEntry struct {
	Link    string `json:"link"`
	Type    string `json:"type"`
	Address string `json:"ip_address"`
	Netmask string `json:"netmask"`
	Gateway string `json:"gateway"`
	Routes  []struct {
		Network string `json:"network"`
		Netmask string `json:"netmask"`
		Gateway string `json:"gateway"`
	} `json:"routes"`
}

func (n *novaNetworkData) read(m *Machine, r *reader) {
	links, order := n.links(r)

	for _, net := range n.Networks {
		link := links[net.Link]
		if link == nil {
			r.ignore("networks", fmt.Errorf("link %q is not in links", net.Link))

			continue
		}

		net.read(link, r)
	}

	for _, id := range order {
		m.Links = append(m.Links, *links[id])
	}

	for _, s := range n.Services {
		if a := r.addr("services", s.Address); s.Type == "dns" && a.IsValid() {
			m.Resolvers = append(m.Resolvers, a)
		}
	}
}

// links returns the links by their ids, and the ids in order. Bonds get the names bond0, bond1, … .
func (n *novaNetworkData) links(r *reader) (links map[string]*Link, order []string) {
	identity, bonds := map[string]string{}, 0
	links = map[string]*Link{}

	for _, l := range n.Links {
		if links[l.ID] != nil {
			continue
		}

		link := &Link{MTU: l.MTU}

		switch l.Type {
		case "bond":
			link.Name = fmt.Sprintf("bond%d", bonds)
			link.Bond = &Bond{Mode: l.BondMode, Links: l.BondLinks, HashPolicy: l.BondHash, MIIMon: r.metric("bond_miimon", l.BondMIIM.String())}
			identity[l.ID] = link.Name
			bonds++
		case "vlan":
			link.VLAN = &VLAN{ID: l.VLANID, Parent: l.VLANLink}
		default: // phy, vif, ovs, tap, …: a card, whatever carries it
			link.MAC = r.mac(l.ID, l.MAC)
			identity[l.ID] = link.MAC

			if link.MAC == "" {
				continue
			}
		}

		links[l.ID] = link
		order = append(order, l.ID)
	}

	for _, link := range links {
		if link.Bond != nil {
			for i, member := range link.Bond.Links {
				link.Bond.Links[i] = cmp.Or(identity[member], member)
			}
		}

		if link.VLAN != nil {
			link.VLAN.Parent = cmp.Or(identity[link.VLAN.Parent], link.VLAN.Parent)
		}
	}

	return links, order
}

// read adds a network to its link.
func (net *novaNetworkEntry) read(link *Link, r *reader) {
	switch net.Type {
	case "ipv4_dhcp":
		link.DHCP4 = true
	case "ipv6_dhcp", "ipv6_dhcpv6-stateful", "ipv6_dhcpv6-stateless":
		link.DHCP6 = true
	case "ipv6_slaac":
	case "ipv4", "ipv6":
		p := r.prefix("ip_address", net.Address)
		if !strings.Contains(net.Address, "/") {
			p = r.masked("ip_address", net.Address, net.Netmask)
		}

		link.add(p)
		link.defaultRoute(r.addr("gateway", net.Gateway), 0)

		for _, route := range net.Routes {
			network := route.Network
			if a, err := netip.ParseAddr(network); err == nil && a.IsUnspecified() {
				network = "default"
			}

			to, toOK := r.destination("network", network, route.Netmask)
			if via, viaOK := r.gateway("gateway", route.Gateway); toOK && viaOK {
				link.route(Route{Destination: to, Gateway: via}, r)
			}
		}
	default:
		r.ignore("networks", fmt.Errorf("type %q is not supported", net.Type))
	}
}
