// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"cmp"
	"fmt"
	"strings"
)

// configV1 is an entry of version 1: a link, the name servers of all, or a route.
type configV1 struct {
	Type       string     `yaml:"type"`
	Name       string     `yaml:"name"`
	MAC        string     `yaml:"mac_address"`
	MTU        uint32     `yaml:"mtu"`
	AcceptRA   *bool      `yaml:"accept-ra"`
	Subnets    []subnetV1 `yaml:"subnets"`
	Address    list       `yaml:"address"`
	Search     list       `yaml:"search"`
	Interfaces []string   `yaml:"bond_interfaces"`
	VLANID     uint16     `yaml:"vlan_id"`
	VLANLink   string     `yaml:"vlan_link"`
	Params     paramsV1   `yaml:"params"`
	// A route has these.
	Destination string `yaml:"destination"`
	Netmask     string `yaml:"netmask"`
	Gateway     string `yaml:"gateway"`
	Metric      uint32 `yaml:"metric"`

	Others others `yaml:",inline"`
}

type paramsV1 struct {
	Mode       string `yaml:"bond-mode"`
	HashPolicy string `yaml:"bond-xmit-hash-policy"`
	MIIMon     uint32 `yaml:"bond-miimon"`

	Others others `yaml:",inline"`
}

type subnetV1 struct {
	Type    string    `yaml:"type"`
	Address string    `yaml:"address"`
	Netmask string    `yaml:"netmask"`
	Gateway string    `yaml:"gateway"`
	DNS     list      `yaml:"dns_nameservers"`
	Search  list      `yaml:"dns_search"`
	Routes  []routeV1 `yaml:"routes"`

	Others others `yaml:",inline"`
}

type routeV1 struct {
	Network     string `yaml:"network"`
	Destination string `yaml:"destination"`
	Netmask     string `yaml:"netmask"`
	Gateway     string `yaml:"gateway"`
	Metric      uint32 `yaml:"metric"`

	Others others `yaml:",inline"`
}

func (n *networkConfig) readV1(m *Machine, r *reader) {
	macs := map[string]string{}

	for _, c := range n.Config {
		if mac := r.mac(c.Name, c.MAC); mac != "" && c.Type == "physical" {
			macs[c.Name] = mac
		}
	}

	identity := func(name string) string { return cmp.Or(macs[name], name) }
	first := len(m.Links)

	for _, c := range n.Config {
		switch c.Type {
		case "nameserver":
			m.Resolvers = append(m.Resolvers, r.addrs("nameserver", c.Address)...)
			m.SearchDomains = append(m.SearchDomains, c.Search...)
			c.Others.ignore("nameserver", "", r)

			continue
		case "physical", "vlan", "bond":
		case "route":
			continue // when the networks of all links are known
		default:
			r.ignore("network-config", fmt.Errorf("an entry of type %q is not supported", c.Type))

			continue
		}

		m.Links = append(m.Links, c.link(identity, m, r))
	}

	for _, c := range n.Config {
		if c.Type == "route" {
			c.route(m.Links[first:], r)
		}
	}
}

// link returns the link of an entry.
func (c *configV1) link(identity func(name string) string, m *Machine, r *reader) Link {
	link := Link{Name: c.Name, MTU: c.MTU}

	switch c.Type {
	case "physical":
		if mac := identity(c.Name); mac != c.Name {
			link.MAC = mac
		}
	case "bond":
		link.Bond = &Bond{Mode: cmp.Or(c.Params.Mode, "balance-rr"), HashPolicy: c.Params.HashPolicy, MIIMon: c.Params.MIIMon}

		for _, name := range c.Interfaces {
			link.Bond.Links = append(link.Bond.Links, identity(name))
		}
	case "vlan":
		link.VLAN = &VLAN{ID: c.VLANID, Parent: identity(c.VLANLink)}
	}

	r.advertised(c.Name, c.AcceptRA)
	c.Others.ignore(c.Name, "", r)
	c.Params.Others.ignore(c.Name, "params.", r)

	for _, s := range c.Subnets {
		s.read(&link, m, r)
	}

	return link
}

// route adds a route that names no link to the one whose network has the gateway.
func (c *configV1) route(links []Link, r *reader) {
	const what = "route"

	c.Others.ignore(what, "", r)

	destination, ok := r.destination(what, c.Destination, c.Netmask)
	gateway := r.addr(what, c.Gateway)

	switch {
	case !ok:
		return
	case !gateway.IsValid():
		if c.Gateway == "" { // the other cases have a remark
			r.ignore(what, fmt.Errorf("destination %q: want a gateway", c.Destination))
		}

		return
	}

	for i := range links {
		if links[i].reaches(gateway) {
			links[i].route(Route{Destination: destination, Gateway: gateway, Metric: c.Metric}, r)

			return
		}
	}

	r.ignore(what, fmt.Errorf("destination %q: no link has a fixed address in the network of the gateway %s", c.Destination, gateway))
}

func (s *subnetV1) read(link *Link, m *Machine, r *reader) {
	switch s.Type {
	case "dhcp", "dhcp4":
		link.DHCP4 = true
	case "dhcp6", "ipv6_dhcpv6-stateful", "ipv6_dhcpv6-stateless":
		link.DHCP6 = true
	case "ipv6_slaac", "manual":
	case "static", "static6":
		p := r.prefix(link.Name, s.Address)
		if s.Netmask != "" && !strings.Contains(s.Address, "/") {
			p = r.masked(link.Name, s.Address, s.Netmask)
		}

		link.add(p)
		link.defaultRoute(r.addr(link.Name, s.Gateway), 0)
	default:
		r.ignore(link.Name, fmt.Errorf("a subnet of type %q is not supported", s.Type))
	}

	for _, route := range s.Routes {
		route.Others.ignore(link.Name, "routes.", r)

		to, toOK := r.destination(link.Name, cmp.Or(route.Network, route.Destination), route.Netmask)
		if via, viaOK := r.gateway(link.Name, route.Gateway); toOK && viaOK {
			link.route(Route{Destination: to, Gateway: via, Metric: route.Metric}, r)
		}
	}

	m.Resolvers = append(m.Resolvers, r.addrs(link.Name, s.DNS)...)
	m.SearchDomains = append(m.SearchDomains, s.Search...)

	// The address says its family, and the mask says the broadcast address.
	s.Others.ignore(link.Name, "subnets.", r, "ipv4", "ipv6", "broadcast")
}
