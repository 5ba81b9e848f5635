// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/platform/cloud"
)

// platformSpecs returns what a platform says about a machine with these links. A card that is not there yet has no specs: it gets them
// when it appears. The other result are the settings that cannot be used, with the reason.
func platformSpecs(name string, m cloud.Machine, f facts) (network.PlatformConfigSpec, []string) {
	p := platformPlan{facts: f, links: map[string]network.LinkSpecSpec{}, spec: network.PlatformConfigSpec{
		ExternalIPs: distinct(m.External),
		Metadata: runtime.PlatformMetadataSpec{
			Platform: name, Hostname: m.Hostname, Region: m.Region, Zone: m.Zone, InstanceType: m.InstanceType, InstanceID: m.InstanceID,
			ProviderID: m.ProviderID, Spot: m.Spot, InternalDNS: m.InternalDNS, ExternalDNS: m.ExternalDNS, Tags: m.Tags,
		},
	}}

	if m.Hostname != "" {
		spec := network.HostnameSpecSpec{Layer: network.LayerPlatform}
		if err := spec.ParseFQDN(m.Hostname); err != nil {
			p.ignored = append(p.ignored, err.Error())
		} else {
			p.spec.Hostnames = []network.HostnameSpecSpec{spec}
		}
	}

	if len(m.Resolvers) > 0 || len(m.SearchDomains) > 0 {
		p.spec.Resolvers = []network.ResolverSpecSpec{{
			DNSServers: distinct(m.Resolvers), SearchDomains: distinct(m.SearchDomains), Layer: network.LayerPlatform,
		}}
	}

	if len(m.TimeServers) > 0 {
		p.spec.TimeServers = []network.TimeServerSpecSpec{{NTPServers: m.TimeServers, Layer: network.LayerPlatform}}
	}

	for _, l := range m.Links {
		if l.Logical() {
			p.created = append(p.created, p.nameOf(l))
		}
	}

	for _, l := range m.Links {
		for _, l := range p.matching(l) {
			p.link(l)
		}
	}

	p.spec.Links = slices.SortedFunc(maps.Values(p.links), func(a, b network.LinkSpecSpec) int { return cmp.Compare(a.Name, b.Name) })

	return p.spec, p.ignored
}

type platformPlan struct {
	facts

	// created are the names of the links that the machine creates.
	created []string
	links   map[string]network.LinkSpecSpec
	spec    network.PlatformConfigSpec
	ignored []string
}

func (p *platformPlan) ignore(format string, args ...any) {
	p.ignored = append(p.ignored, fmt.Sprintf(format, args...))
}

// matching returns a link for each card that a pattern in place of a name (ens*) matches.
func (p *platformPlan) matching(l cloud.Link) []cloud.Link {
	if l.MAC != "" || l.Logical() || !strings.ContainsAny(l.Name, "*?[") {
		return []cloud.Link{l}
	}

	var out []cloud.Link

	for _, i := range p.found() {
		names := append([]string{p.names[i]}, p.facts.links[i].AltNames...)

		if p.facts.links[i].Physical() && slices.ContainsFunc(names, func(name string) bool {
			ok, _ := path.Match(l.Name, name) // a pattern that is none matches nothing
			return ok
		}) {
			one := l
			one.Name = p.names[i]
			out = append(out, one)
		}
	}

	return out
}

// link adds the specs of a link.
func (p *platformPlan) link(l cloud.Link) {
	name := p.nameOf(l)
	if name == "" {
		return
	}

	spec, ok := p.links[name]
	if !ok {
		spec = network.LinkSpecSpec{Name: name, Up: true, Layer: network.LayerPlatform}
	}

	spec.MTU = cmp.Or(l.MTU, spec.MTU)

	switch {
	case l.Bond != nil:
		var bond view.Bond

		bond.Mode, bond.XmitHashPolicy, bond.MIIMon = l.Bond.Mode, l.Bond.HashPolicy, optional(l.Bond.MIIMon)

		master, err := bondSpec(&bond)
		if err != nil {
			p.ignore("%s: %v", name, err)

			return
		}

		spec.Logical, spec.Kind, spec.Type, spec.BondMaster = true, network.LinkKindBond, nethelpers.LinkTypeEther, master
		p.ports(l.Bond.Links, func(port *network.LinkSpecSpec, i int) {
			port.BondSlave = network.BondSlave{MasterName: name, SlaveIndex: i}
		})
	case l.Bridge != nil:
		spec.Logical, spec.Kind, spec.Type = true, network.LinkKindBridge, nethelpers.LinkTypeEther
		spec.BridgeMaster.STP.Enabled = l.Bridge.STP
		p.ports(l.Bridge.Links, func(port *network.LinkSpecSpec, _ int) { port.BridgeSlave.MasterName = name })
	case l.VLAN != nil:
		spec.Logical, spec.Kind, spec.Type = true, network.LinkKindVLAN, nethelpers.LinkTypeEther
		spec.ParentName = p.identified(l.VLAN.Parent)
		spec.VLAN = network.VLANSpec{VID: l.VLAN.ID, Protocol: nethelpers.VLANProtocol8021Q}
	}

	p.links[name] = spec

	for _, a := range distinct(l.Addresses) {
		p.spec.Addresses = append(p.spec.Addresses, addressSpec(name, a, network.LayerPlatform))
	}

	for _, r := range distinct(l.Routes) {
		p.spec.Routes = append(p.spec.Routes, platformRoute(name, r))
	}

	if l.DHCP4 {
		p.spec.Operators = append(p.spec.Operators, dhcp4Spec(name, view.DHCP{}, network.LayerPlatform))
	}

	if l.DHCP6 {
		p.spec.Operators = append(p.spec.Operators, dhcp6Spec(name, view.DHCP{}, network.LayerPlatform))
	}
}

// platformRoute returns the spec of a route.
func platformRoute(link string, r cloud.Route) network.RouteSpecSpec {
	spec := routeSpec(link, r.Destination, r.Gateway, cmp.Or(r.Metric, network.DefaultRouteMetric), network.LayerPlatform)
	spec.Source, spec.MTU, spec.Table = r.Source, r.MTU, cmp.Or(nethelpers.RoutingTable(r.Table), spec.Table)

	if r.OnLink && spec.Gateway.IsValid() { // the kernel refuses the flag of a route without a gateway
		spec.Flags = nethelpers.RouteOnLink
	}

	return spec
}

// ports adds the ports of a bond or a bridge: cards that are there, and links that the machine creates.
func (p *platformPlan) ports(identities []string, enslave func(port *network.LinkSpecSpec, i int)) {
	for i, identity := range identities {
		name := p.identified(identity)
		if !slices.Contains(p.names, name) && !slices.Contains(p.created, name) {
			continue
		}

		spec, ok := p.links[name]
		if !ok {
			spec = network.LinkSpecSpec{Name: name, Up: true, Layer: network.LayerPlatform}
		}

		enslave(&spec, i)
		p.links[name] = spec
	}
}

// nameOf returns the name of a link of the platform, or "" if it is not there.
func (p *platformPlan) nameOf(l cloud.Link) string {
	switch {
	case l.VLAN != nil && l.Name == "":
		parent := p.identified(l.VLAN.Parent)
		if parent == "" {
			return ""
		}

		return vlanName(parent, l.VLAN.ID)
	case l.Logical():
		return l.Name
	case l.MAC != "":
		return p.card(l.MAC)
	case l.First:
		for _, i := range p.found() {
			if p.facts.links[i].Physical() {
				return p.names[i]
			}
		}

		return ""
	}

	if name := p.canonical(l.Name); slices.Contains(p.names, name) {
		return name
	}

	return ""
}

// card returns the name of the physical link with a hardware address, or "".
func (p *platformPlan) card(mac string) string {
	for _, i := range p.found() {
		l := p.facts.links[i]
		if l.Physical() && strings.EqualFold(l.Permanent().String(), mac) {
			return p.names[i]
		}
	}

	return ""
}

// identified returns the name of the link with a hardware address or a name.
func (p *platformPlan) identified(identity string) string {
	if strings.Contains(identity, ":") {
		return p.card(identity)
	}

	return p.canonical(identity)
}

func optional(n uint32) *uint32 {
	if n == 0 {
		return nil
	}

	return &n
}

func distinct[T comparable](list []T) []T { return union(nil, list) }
