// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// networkConfig is cloud-init's network configuration, version 1 or 2, with or without the key network around it.
// https://docs.cloud-init.io/en/latest/reference/network-config.html
type networkConfig struct {
	Network *networkConfig `yaml:"network"`
	Version int            `yaml:"version"`

	Config []configV1 `yaml:"config"`

	Ethernets map[string]linkV2 `yaml:"ethernets"`
	Bonds     map[string]linkV2 `yaml:"bonds"`
	VLANs     map[string]linkV2 `yaml:"vlans"`
}

// configV1 is an entry of version 1: a link, or the name servers of all.
type configV1 struct {
	Type       string     `yaml:"type"`
	Name       string     `yaml:"name"`
	MAC        string     `yaml:"mac_address"`
	MTU        uint32     `yaml:"mtu"`
	Subnets    []subnetV1 `yaml:"subnets"`
	Address    list       `yaml:"address"`
	Search     list       `yaml:"search"`
	Interfaces []string   `yaml:"bond_interfaces"`
	VLANID     uint16     `yaml:"vlan_id"`
	VLANLink   string     `yaml:"vlan_link"`
	Params     struct {
		Mode       string `yaml:"bond-mode"`
		HashPolicy string `yaml:"bond-xmit-hash-policy"`
		MIIMon     uint32 `yaml:"bond-miimon"`
	} `yaml:"params"`
	Destination string `yaml:"destination"`
	Netmask     string `yaml:"netmask"`
	Gateway     string `yaml:"gateway"`
	Metric      uint32 `yaml:"metric"`
}

type subnetV1 struct {
	Type    string `yaml:"type"`
	Address string `yaml:"address"`
	Netmask string `yaml:"netmask"`
	Gateway string `yaml:"gateway"`
	DNS     list   `yaml:"dns_nameservers"`
	Search  list   `yaml:"dns_search"`
	Routes  []struct {
		Network     string `yaml:"network"`
		Destination string `yaml:"destination"`
		Netmask     string `yaml:"netmask"`
		Gateway     string `yaml:"gateway"`
		Metric      uint32 `yaml:"metric"`
	} `yaml:"routes"`
}

// linkV2 is a link of version 2.
type linkV2 struct {
	Match struct {
		MAC    string `yaml:"macaddress"`
		Name   string `yaml:"name"`
		Driver any    `yaml:"driver"`
	} `yaml:"match"`
	MTU         uint32      `yaml:"mtu"`
	DHCP4       bool        `yaml:"dhcp4"`
	DHCP6       bool        `yaml:"dhcp6"`
	Addresses   []addressV2 `yaml:"addresses"`
	Gateway4    string      `yaml:"gateway4"`
	Gateway6    string      `yaml:"gateway6"`
	NameServers struct {
		Addresses list `yaml:"addresses"`
		Search    list `yaml:"search"`
	} `yaml:"nameservers"`
	Routes []struct {
		To     string `yaml:"to"`
		Via    string `yaml:"via"`
		Metric uint32 `yaml:"metric"`
	} `yaml:"routes"`
	Interfaces []string `yaml:"interfaces"`
	Parameters struct {
		Mode       string `yaml:"mode"`
		HashPolicy string `yaml:"transmit-hash-policy"`
		MIIMon     uint32 `yaml:"mii-monitor-interval"`
	} `yaml:"parameters"`
	ID   uint16 `yaml:"id"`
	Link string `yaml:"link"`
}

// list is one text, texts with spaces between them, or a list.
type list []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (l *list) UnmarshalYAML(node *yaml.Node) error {
	var many []string
	if err := node.Decode(&many); err == nil {
		*l = many

		return nil
	}

	var one string
	if err := node.Decode(&one); err != nil {
		return err
	}

	*l = strings.Fields(one)

	return nil
}

// addressV2 is an address, or an object with one key that is an address.
type addressV2 string

// UnmarshalYAML implements yaml.Unmarshaler.
func (a *addressV2) UnmarshalYAML(node *yaml.Node) error {
	if err := node.Decode((*string)(a)); err == nil {
		return nil
	}

	var options map[string]any
	if err := node.Decode(&options); err != nil {
		return err
	}

	for text := range options {
		*a = addressV2(text)
	}

	return nil
}

// read adds the network to a machine.
func (n *networkConfig) read(m *Machine, r *reader) {
	if n.Network != nil {
		n = n.Network
		n.Network = nil
	}

	switch n.Version {
	case 1:
		n.readV1(m, r)
	case 2:
		n.readV2(m, r)
	default:
		r.ignore("network-config", fmt.Errorf("version %d: want 1 or 2", n.Version))
	}
}

func (n *networkConfig) readV1(m *Machine, r *reader) {
	macs := map[string]string{}

	for _, c := range n.Config {
		if mac := r.mac(c.Name, c.MAC); mac != "" && c.Type == "physical" {
			macs[c.Name] = mac
		}
	}

	identity := func(name string) string { return cmp.Or(macs[name], name) }

	for _, c := range n.Config {
		switch c.Type {
		case "nameserver":
			m.Resolvers = append(m.Resolvers, r.addrs("nameserver", c.Address)...)
			m.SearchDomains = append(m.SearchDomains, c.Search...)

			continue
		case "physical", "vlan", "bond":
		default:
			r.ignore("network-config", fmt.Errorf("an entry of type %q is not supported", c.Type))

			continue
		}

		link := Link{Name: c.Name, MTU: c.MTU}

		switch c.Type {
		case "physical":
			link.MAC = macs[c.Name]
		case "bond":
			link.Bond = &Bond{Mode: cmp.Or(c.Params.Mode, "balance-rr"), HashPolicy: c.Params.HashPolicy, MIIMon: c.Params.MIIMon}

			for _, name := range c.Interfaces {
				link.Bond.Links = append(link.Bond.Links, identity(name))
			}
		case "vlan":
			link.VLAN = &VLAN{ID: c.VLANID, Parent: identity(c.VLANLink)}
		}

		for _, s := range c.Subnets {
			s.read(&link, m, r)
		}

		m.Links = append(m.Links, link)
	}
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
		network := cmp.Or(route.Network, route.Destination)
		destination := r.prefix(link.Name, network)

		if route.Netmask != "" && !strings.Contains(network, "/") {
			destination = r.masked(link.Name, network, route.Netmask)
		}

		link.route(destination, r.addr(link.Name, route.Gateway), route.Metric)
	}

	m.Resolvers = append(m.Resolvers, r.addrs(link.Name, s.DNS)...)
	m.SearchDomains = append(m.SearchDomains, s.Search...)
}

// route adds a route; one to everywhere is a default route.
func (l *Link) route(destination netip.Prefix, gateway netip.Addr, metric uint32) {
	switch {
	case destination.IsValid() && destination.Bits() > 0:
		l.Routes = append(l.Routes, Route{Destination: destination.Masked(), Gateway: gateway, Metric: metric})
	case gateway.IsValid():
		l.defaultRoute(gateway, metric)
	}
}

func (n *networkConfig) readV2(m *Machine, r *reader) {
	read := func(links map[string]linkV2, complete func(*Link, linkV2)) {
		for _, name := range slices.Sorted(maps.Keys(links)) {
			v2 := links[name]
			link := v2.read(name, m, r)
			complete(&link, v2)
			m.Links = append(m.Links, link)
		}
	}

	read(n.Ethernets, func(*Link, linkV2) {})
	read(n.Bonds, func(l *Link, v2 linkV2) {
		p := v2.Parameters
		l.Bond = &Bond{Mode: cmp.Or(p.Mode, "balance-rr"), Links: n.identities(v2.Interfaces, r), HashPolicy: p.HashPolicy, MIIMon: p.MIIMon}
	})
	read(n.VLANs, func(l *Link, v2 linkV2) { l.VLAN = &VLAN{ID: v2.ID, Parent: n.identities([]string{v2.Link}, r)[0]} })
}

// identities returns the hardware addresses of links that have one, and the names of the others.
func (n *networkConfig) identities(names []string, r *reader) []string {
	out := slices.Clone(names)

	for i, name := range out {
		if v2, ok := n.Ethernets[name]; ok {
			out[i] = cmp.Or(r.mac(name, v2.Match.MAC), v2.Match.Name, name)
		}
	}

	return out
}

func (v2 *linkV2) read(name string, m *Machine, r *reader) Link {
	if v2.Match.Driver != nil {
		r.ignore(name, errors.New("match.driver is not supported: match by macaddress or name"))
	}

	link := Link{MAC: r.mac(name, v2.Match.MAC), Name: cmp.Or(v2.Match.Name, name), MTU: v2.MTU, DHCP4: v2.DHCP4, DHCP6: v2.DHCP6}

	for _, a := range v2.Addresses {
		link.add(r.prefix(name, string(a)))
	}

	link.defaultRoute(r.addr(name, v2.Gateway4), 0)
	link.defaultRoute(r.addr(name, v2.Gateway6), 0)

	for _, route := range v2.Routes {
		var to netip.Prefix
		if route.To != "default" {
			to = r.prefix(name, route.To)
		}

		link.route(to, r.addr(name, route.Via), route.Metric)
	}

	m.Resolvers = append(m.Resolvers, r.addrs(name, v2.NameServers.Addresses)...)
	m.SearchDomains = append(m.SearchDomains, v2.NameServers.Search...)

	return link
}
