// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/documents/network"
	"github.com/seed-59268b81/talos/config/view"
)

// links checks the descriptions of links against each other: those of documents, and those of machine.network.interfaces.
func (c *check) links(cfg *config.Config) {
	links := view.Of(cfg).Links()

	c.described(links)
	c.ports(links)
	c.tags(links)

	if !view.Of(cfg).DefaultDHCP() {
		c.addressed(links)
	}

	for _, d := range config.All[*network.BondConfig](cfg) {
		c.bondDocument(d)
	}
}

// addressed warns if DHCP runs nowhere and no card has an address: the first document about a link ends DHCP on all network cards.
func (c *check) addressed(links []view.Link) {
	for _, l := range links {
		for _, l := range append([]view.Link{l}, l.Tagged...) {
			if l.DHCP4 != nil || l.DHCP6 != nil || len(l.Addresses) > 0 && !l.Dummy && l.WireGuard == nil {
				return
			}
		}
	}

	i := slices.IndexFunc(links, func(l view.Link) bool { return !legacy(l.At) })
	if i < 0 {
		return
	}

	c.warn(links[i].At, "a document about a link ends DHCP on all network cards, and none of them gets an address from the configuration: "+
		"add a DHCPv4Config or addresses, unless the platform or the kernel's arguments have them")
}

// described reports links and DHCP clients that are described twice.
func (c *check) described(links []view.Link) {
	seen := map[string]string{}

	once := func(what, at string) {
		// Two elements of machine.network.interfaces are reported there.
		if first := seen[what]; first != "" && first != at && !(legacy(first) && legacy(at)) {
			c.wrong(at, "%s is described by %s too: keep one of the two", what, first)

			return
		}

		seen[what] = at
	}

	for _, l := range links {
		if l.Name == "" {
			continue
		}

		if !onlyDHCP(l) {
			once("link "+l.Name, l.At)
		}

		if l.DHCP4 != nil {
			once("the DHCPv4 client of "+l.Name, l.At)
		}

		if l.DHCP6 != nil {
			once("the DHCPv6 client of "+l.Name, l.At)
		}

		for _, tagged := range l.Tagged {
			once(fmt.Sprintf("link %s.%d", l.Name, tagged.VLAN.ID), l.At)
		}
	}
}

func legacy(at string) bool { return strings.HasPrefix(at, "machine.") }

// onlyDHCP reports whether a description is that of a DHCP client.
func onlyDHCP(l view.Link) bool { return !legacy(l.At) && (l.DHCP4 != nil || l.DHCP6 != nil) }

// ports reports links that belong to two bonds, bridges or VRFs, or to themselves.
func (c *check) ports(links []view.Link) {
	masters := map[string]string{}

	for _, l := range links {
		for i, port := range l.Ports {
			at := fmt.Sprintf("%s.links[%d]", l.At, i)

			switch first := masters[port]; {
			case port == l.Name:
				c.wrong(at, "%s cannot belong to itself", port)
			case first != "" && first != l.At:
				c.wrong(at, "%s belongs to the link of %s already", port, first)
			}

			masters[port] = l.At
		}
	}
}

// tags reports VLANs of one link with the same number.
func (c *check) tags(links []view.Link) {
	seen := map[view.VLAN]string{}

	for _, l := range links {
		vlans := slices.Clone(l.Tagged)
		if l.VLAN != nil {
			vlans = append(vlans, l)
		}

		for _, tagged := range vlans {
			key := *tagged.VLAN
			if key.Parent == "" {
				key.Parent = l.Name
			}

			if key.Mode == "" {
				key.Mode = string(network.VLANMode8021Q)
			}

			if first := seen[key]; first != "" && first != l.At {
				c.wrong(l.At, "VLAN %d of link %s is described by %s too: keep one of the two", key.ID, key.Parent, first)
			}

			seen[key] = l.At
		}
	}
}

// bondKeys are keys of a BondConfig that have another name in machine.network.interfaces[].bond.
var bondKeys = map[string]string{
	"mode": "bondMode", "resendIgmp": "resendIGMP", "arpIPTarget": "arpIpTargets", "tlbDynamicLb": "tlbLogicalLb", "peerNotifyDelay": "peerNotifDelay",
	"interfaces": "links",
}

// bondDocument checks a bond as those of machine.network.interfaces are checked: the kernel is the same. A bond may have no links.
func (c *check) bondDocument(d *network.BondConfig) {
	var bond check

	settings := view.BondOf(d).Bond
	settings.Interfaces = []string{"any"}
	bond.bond("", &settings)

	at := document.Path(d)

	for _, f := range bond.findings {
		key, rest, _ := strings.Cut(strings.TrimPrefix(f.Path, "."), "[")
		if other, ok := bondKeys[key]; ok {
			key = other
		}

		// The document's own rules may have reported it.
		path := at + "." + key
		if slices.ContainsFunc(c.findings, func(have Finding) bool { return strings.HasPrefix(have.Path, path) }) {
			continue
		}

		if rest != "" && len(d.NSIP6Targets) == 0 { // the lists of both families are one there
			path += "[" + rest
		}

		c.wrong(path, "%s", f.Text)
	}
}
