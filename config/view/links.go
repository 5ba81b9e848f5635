// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/network"
)

// Links are the settings of links: those of machine.network.interfaces, and those of documents.
func (c *Config) Links() []Link {
	var out []Link

	for i := range c.main.Machine.Network.Interfaces {
		out = append(out, linkOfDevice(fmt.Sprintf("machine.network.interfaces[%d]", i), &c.main.Machine.Network.Interfaces[i]))
	}

	for _, d := range c.all.Documents() {
		out = append(out, linksOf(d)...)
	}

	return out
}

// DefaultDHCP reports whether DHCP runs on network cards of which the configuration says nothing. A document about a link or a DHCP client
// means that all links are described.
func (c *Config) DefaultDHCP() bool {
	for _, d := range c.all.Documents() {
		switch d.(type) {
		case *network.LinkConfig, *network.BondConfig, *network.BridgeConfig, *network.VLANConfig, *network.VRFConfig, *network.VethConfig,
			*network.DummyLinkConfig, *network.WireguardConfig, *network.DHCPv4Config, *network.DHCPv6Config:
			return false
		}
	}

	return true
}

// linksOf returns the links that a document describes: for most documents none.
func linksOf(document config.Document) []Link {
	switch d := document.(type) {
	case *network.LinkConfig:
		return []Link{linkOfDocument(d, d.DocName, &d.LinkSettings)}
	case *network.BondConfig:
		return []Link{linkOfBond(d)}
	case *network.BridgeConfig:
		l := linkOfDocument(d, d.DocName, &d.LinkSettings)
		l.Bridge = &Bridge{STP: d.STP.Enabled, VLANFiltering: d.VLAN.Filtering}
		l.HardwareAddr, l.Ports = d.HardwareAddr, texts(d.Links)

		return []Link{l}
	case *network.VLANConfig:
		l := linkOfDocument(d, d.DocName, &d.LinkSettings)
		l.VLAN = &VLAN{ID: d.VLANID, Parent: string(d.Parent), Mode: string(d.VLANMode)}

		return []Link{l}
	case *network.VRFConfig:
		l := linkOfDocument(d, d.DocName, &d.LinkSettings)
		l.VRF, l.HardwareAddr, l.Ports = &VRF{Table: uint32(d.Table)}, d.HardwareAddr, texts(d.Links)

		return []Link{l}
	case *network.DummyLinkConfig:
		l := linkOfDocument(d, d.DocName, &d.LinkSettings)
		l.Dummy, l.HardwareAddr = true, d.HardwareAddr

		return []Link{l}
	case *network.VethConfig:
		return linksOfVeth(d)
	case *network.WireguardConfig:
		return []Link{linkOfWireGuard(d)}
	case *network.DHCPv4Config:
		return []Link{linkOfDHCP4(d)}
	case *network.DHCPv6Config:
		return []Link{linkOfDHCP6(d)}
	default:
		return nil
	}
}

// linkOfDocument returns what documents of all kinds say about their link.
func linkOfDocument(d config.Document, name string, s *network.LinkSettings) Link {
	l := Link{At: fmt.Sprintf("%s[%s]", d.Kind(), d.Name()), Name: name, Up: s.Up, Multicast: s.Multicast, MTU: s.MTU}

	for _, a := range s.Addresses {
		l.Addresses = append(l.Addresses, LinkAddress{Address: a.Address.String(), Metric: a.RoutePriority})
	}

	for _, r := range s.Routes {
		l.Routes = append(l.Routes, Route{
			Destination: r.Destination, Gateway: r.Gateway, Source: r.Source, Metric: r.Metric, MTU: r.MTU, Table: uint32(r.Table),
		})
	}

	return l
}

func linksOfVeth(d *network.VethConfig) []Link {
	first, second := linkOfDocument(d, d.DocName, &d.LinkSettings), linkOfDocument(d, string(d.Peer.Name), &d.Peer.LinkSettings)
	first.Veth, second.Veth = &Veth{Peer: second.Name}, &Veth{Peer: first.Name}

	return []Link{first, second}
}

func linkOfWireGuard(d *network.WireguardConfig) Link {
	l := linkOfDocument(d, d.DocName, &d.LinkSettings)
	l.WireGuard = &WireGuard{PrivateKey: string(d.PrivateKey), ListenPort: d.ListenPort, FirewallMark: d.FirewallMark}

	for _, p := range d.Peers {
		peer := WireGuardPeer{PublicKey: string(p.PublicKey), PresharedKey: string(p.PresharedKey), Keepalive: p.PersistentKeepaliveInterval}

		if p.Endpoint.IsValid() {
			peer.Endpoint = p.Endpoint.String()
		}

		for _, allowed := range p.AllowedIPs {
			peer.AllowedIPs = append(peer.AllowedIPs, allowed.String())
		}

		l.WireGuard.Peers = append(l.WireGuard.Peers, peer)
	}

	return l
}

func linkOfDHCP4(d *network.DHCPv4Config) Link {
	return Link{At: fmt.Sprintf("%s[%s]", d.DocKind, d.DocName), Name: d.DocName, DHCP4: &DHCP{
		RouteMetric: d.RouteMetric, IgnoreHostname: d.IgnoreHostname, IgnoreRoutes: d.IgnoreRoutes,
		ClientIdentifier: string(d.ClientIdentifier), DUID: fmt.Sprintf("%x", []byte(d.DUIDRaw)),
	}}
}

func linkOfDHCP6(d *network.DHCPv6Config) Link {
	return Link{At: fmt.Sprintf("%s[%s]", d.DocKind, d.DocName), Name: d.DocName, DHCP6: &DHCP{
		IgnoreHostname:   d.IgnoreHostname,
		ClientIdentifier: string(d.ClientIdentifier), DUID: fmt.Sprintf("%x", []byte(d.DUIDRaw)),
	}}
}

// BlackholeRoute drops packets to a network for which there is no better route.
type BlackholeRoute struct {
	Destination netip.Prefix
	Metric      uint32
}

// BlackholeRoutes are the routes that drop packets.
func (c *Config) BlackholeRoutes() []BlackholeRoute {
	var out []BlackholeRoute

	for _, d := range c.all.Documents() {
		b, ok := d.(*network.BlackholeRouteConfig)
		if !ok {
			continue
		}

		if destination, err := netip.ParsePrefix(b.DocName); err == nil { // the check reports it
			out = append(out, BlackholeRoute{Destination: destination, Metric: b.Metric})
		}
	}

	return out
}

// RoutingRule chooses the routing table of packets. Without a source and a destination it is for both families.
type RoutingRule struct {
	Priority            uint32
	Source, Destination netip.Prefix
	Table               uint32
	// Action is the kernel's number; 0 looks into the table.
	Action          uint8
	InLink, OutLink string
	Mark, Mask      uint32
}

// RoutingRules are the rules that choose routing tables.
func (c *Config) RoutingRules() []RoutingRule {
	var out []RoutingRule

	for _, d := range c.all.Documents() {
		r, ok := d.(*network.RoutingRuleConfig)
		if !ok {
			continue
		}

		priority, err := strconv.ParseUint(r.DocName, 10, 32)
		if err != nil {
			continue // the check reports it
		}

		out = append(out, RoutingRule{
			Priority: uint32(priority), Source: r.Src, Destination: r.Dst, Table: uint32(r.Table), Action: r.Action,
			InLink: string(r.IIFName), OutLink: string(r.OIFName), Mark: r.FwMark, Mask: r.FwMask,
		})
	}

	return out
}

// texts returns names of links as texts.
func texts[T ~string](names []T) []string {
	var out []string
	for _, n := range names {
		out = append(out, string(n))
	}

	return out
}
