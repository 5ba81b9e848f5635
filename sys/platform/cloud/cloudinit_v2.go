// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"
)

// linkV2 is a link of version 2.
type linkV2 struct {
	Match       matchV2     `yaml:"match"`
	MTU         uint32      `yaml:"mtu"`
	DHCP4       bool        `yaml:"dhcp4"`
	DHCP6       bool        `yaml:"dhcp6"`
	AcceptRA    *bool       `yaml:"accept-ra"`
	Addresses   []addressV2 `yaml:"addresses"`
	Gateway4    string      `yaml:"gateway4"`
	Gateway6    string      `yaml:"gateway6"`
	NameServers struct {
		Addresses list `yaml:"addresses"`
		Search    list `yaml:"search"`

		Others others `yaml:",inline"`
	} `yaml:"nameservers"`
	Routes     []routeV2    `yaml:"routes"`
	Interfaces []string     `yaml:"interfaces"`
	Parameters parametersV2 `yaml:"parameters"`
	ID         uint16       `yaml:"id"`
	Link       string       `yaml:"link"`

	Others others `yaml:",inline"`
}

type matchV2 struct {
	MAC    string `yaml:"macaddress"`
	Name   string `yaml:"name"`
	Driver any    `yaml:"driver"`

	Others others `yaml:",inline"`
}

// parametersV2 are those of a bond or a bridge.
type parametersV2 struct {
	Mode       string `yaml:"mode"`
	HashPolicy string `yaml:"transmit-hash-policy"`
	MIIMon     uint32 `yaml:"mii-monitor-interval"`
	// STP is on by default, unlike in the kernel.
	STP *bool `yaml:"stp"`

	Others others `yaml:",inline"`
}

type routeV2 struct {
	Type   string `yaml:"type"`
	To     string `yaml:"to"`
	Via    string `yaml:"via"`
	From   string `yaml:"from"`
	OnLink bool   `yaml:"on-link"`
	Metric uint32 `yaml:"metric"`
	Table  uint32 `yaml:"table"`
	MTU    uint32 `yaml:"mtu"`

	Others others `yaml:",inline"`
}

// addressV2 is an address, or an object with one key that is an address and has options.
type addressV2 struct {
	text    string
	options others
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (a *addressV2) UnmarshalYAML(node *yaml.Node) error {
	if err := node.Decode(&a.text); err == nil {
		return nil
	}

	var addresses map[string]yaml.Node
	if err := node.Decode(&addresses); err != nil {
		return err
	}

	for text, options := range addresses {
		a.text, a.options = text, nil
		_ = options.Decode(&a.options) // without options
	}

	return nil
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
	read(n.Bridges, func(l *Link, v2 linkV2) {
		l.Bridge = &Bridge{Links: n.identities(v2.Interfaces, r), STP: v2.Parameters.STP == nil || *v2.Parameters.STP}
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

	v2.ignore(name, r)

	link := Link{MAC: r.mac(name, v2.Match.MAC), Name: cmp.Or(v2.Match.Name, name), MTU: v2.MTU, DHCP4: v2.DHCP4, DHCP6: v2.DHCP6}

	for _, a := range v2.Addresses {
		link.add(r.prefix(name, a.text))
		a.options.ignore(name, "addresses."+a.text+".", r)
	}

	link.defaultRoute(r.addr(name, v2.Gateway4), 0)
	link.defaultRoute(r.addr(name, v2.Gateway6), 0)

	for _, route := range v2.Routes {
		route.read(&link, name, r)
	}

	m.Resolvers = append(m.Resolvers, r.addrs(name, v2.NameServers.Addresses)...)
	m.SearchDomains = append(m.SearchDomains, v2.NameServers.Search...)

	return link
}

// ignore remarks on the settings of a link that are not read.
func (v2 *linkV2) ignore(name string, r *reader) {
	r.advertised(name, v2.AcceptRA)

	// The start does not wait for links, and the network stays until the machine is off: neither of the two keys has a meaning.
	v2.Others.ignore(name, "", r, "optional", "critical")
	v2.Match.Others.ignore(name, "match.", r)
	v2.NameServers.Others.ignore(name, "nameservers.", r)
	v2.Parameters.Others.ignore(name, "parameters.", r)
}

// advertised remarks on a link that is not to follow what routers advertise.
func (r *reader) advertised(name string, accept *bool) {
	if accept != nil && !*accept {
		r.ignore(name, errors.New("accept-ra: false is not supported: router advertisements are followed"))
	}
}

func (route *routeV2) read(link *Link, name string, r *reader) {
	if route.Type != "" && route.Type != "unicast" {
		r.ignore(name, fmt.Errorf("a route of type %q is not supported", route.Type))

		return
	}

	route.Others.ignore(name, "routes.", r)

	to, toOK := r.destination(name, route.To, "")
	if via, viaOK := r.gateway(name, route.Via); toOK && viaOK {
		link.route(Route{
			Destination: to, Gateway: via, Source: r.addr(name, route.From), Metric: route.Metric, Table: route.Table, MTU: route.MTU,
			OnLink: route.OnLink,
		}, r)
	}
}
