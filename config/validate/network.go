// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"fmt"
	"net/netip"

	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/value"
)

// minMTU is the smallest MTU for IPv4 (RFC 791).
const minMTU = 68

func (c *check) network(n *v1alpha1.NetworkConfig) {
	c.hostname("machine.network.hostname", n.Hostname)

	for i, addr := range n.NameServers {
		if !addr.IsValid() {
			c.wrong(index("machine.network.nameservers", i), "is empty")
		}
	}

	for i, host := range n.ExtraHostEntries {
		at := index("machine.network.extraHostEntries", i)

		if !host.IP.IsValid() {
			c.wrong(at+".ip", "is missing")
		}

		if len(host.Aliases) == 0 {
			c.wrong(at+".aliases", "is missing: list the names of %s", host.IP)
		}
	}

	for i, domain := range n.SearchDomains {
		if err := new(value.LookupName).UnmarshalText([]byte(domain)); err != nil || domain == "" {
			c.wrong(index("machine.network.searchDomains", i), "%q is not a domain name", domain)
		}
	}

	seen := map[string]int{}

	for i := range n.Interfaces {
		device := &n.Interfaces[i]
		at := index("machine.network.interfaces", i)

		if first, twice := seen[device.Interface]; twice && device.Interface != "" {
			c.wrong(at+".interface", "%q is configured at machine.network.interfaces[%d] already: merge the two", device.Interface, first)
		}

		seen[device.Interface] = i
		c.device(at, device)
	}
}

func (c *check) hostname(path, name string) {
	if name != "" && !dnsName(name) {
		c.wrong(path, "%q is not a hostname: want letters, digits and dashes, in parts of up to 63 with dots between", name)
	}
}

func (c *check) device(at string, d *v1alpha1.Device) {
	switch {
	case d.Interface == "" && d.Selector == nil:
		c.wrong(at, "names no link: set interface or deviceSelector")
	case d.Interface != "" && d.Selector != nil:
		c.wrong(at, "interface %q and deviceSelector exclude each other: keep one", d.Interface)
	case d.Selector != nil && *d.Selector == v1alpha1.DeviceSelector{}:
		c.wrong(at+".deviceSelector", "is empty: it would match every link; set at least one property")
	}

	c.layer3(at, d.Addresses, d.Routes, d.MTU, d.VIP)

	if d.Bond != nil {
		c.bond(at+".bond", d.Bond)
	}

	if d.WireGuard != nil {
		c.wireguard(at+".wireguard", d.WireGuard)
	}

	tags := map[uint16]bool{}

	for i, vlan := range d.VLANs {
		vlanAt := index(at+".vlans", i)

		if vlan.ID < 1 || vlan.ID > 4094 {
			c.wrong(vlanAt+".vlanId", "%d is not a VLAN: want 1 to 4094", vlan.ID)
		}

		if tags[vlan.ID] {
			c.wrong(vlanAt+".vlanId", "%d: duplicate", vlan.ID)
		}

		tags[vlan.ID] = true
		c.layer3(vlanAt, vlan.Addresses, vlan.Routes, vlan.MTU, vlan.VIP)
	}
}

// layer3 checks the settings that links and VLANs have in common.
func (c *check) layer3(at string, addresses []string, routes []v1alpha1.Route, mtu uint32, vip *v1alpha1.VIP) {
	for i, text := range addresses {
		if _, ok := prefixOrAddress(text); !ok {
			c.wrong(index(at+".addresses", i), "%q is not an address: want one such as 192.0.2.10/24", text)
		}
	}

	for i, route := range routes {
		c.route(fmt.Sprintf("%s.routes[%d]", at, i), route)
	}

	if mtu != 0 && mtu < minMTU {
		c.wrong(at+".mtu", "%d is too small: want at least %d", mtu, minMTU)
	}

	if vip == nil {
		return
	}

	if _, err := netip.ParseAddr(vip.IP); err != nil {
		c.wrong(at+".vip.ip", "%q is not an address", vip.IP)
	}

	if !c.controlPlane {
		c.wrong(at+".vip", "is for control plane machines: remove it from workers")
	}
}

func (c *check) route(at string, r v1alpha1.Route) {
	if !r.Network.IsValid() && !r.Gateway.IsValid() {
		c.wrong(at, "names neither a network nor a gateway")
	}

	for _, addr := range []struct {
		key  string
		addr netip.Addr
	}{{"gateway", r.Gateway}, {"source", r.Source}} {
		if addr.addr.IsValid() && r.Network.IsValid() && addr.addr.Is4() != r.Network.Addr().Is4() {
			c.wrong(at+"."+addr.key, "%s and the network %s are of different families (IPv4 and IPv6)", addr.addr, r.Network)
		}
	}
}

func (c *check) wireguard(at string, w *v1alpha1.WireGuard) {
	c.wireguardKey(at+".privateKey", w.PrivateKey)

	for i, peer := range w.Peers {
		peerAt := index(at+".peers", i)
		c.wireguardKey(peerAt+".publicKey", peer.PublicKey)

		if peer.Endpoint != "" {
			if _, err := netip.ParseAddrPort(peer.Endpoint); err != nil {
				c.wrong(peerAt+".endpoint", "%q is not an endpoint: want ADDRESS:PORT", peer.Endpoint)
			}
		}

		c.subnets(peerAt+".allowedIPs", peer.AllowedIPs)
	}
}

// wireguardKey checks a key, which a message must not show.
func (c *check) wireguardKey(at, text string) {
	var key value.WireguardKey

	if text == "" {
		c.wrong(at, "is missing")
	} else if err := key.UnmarshalText([]byte(text)); err != nil {
		c.wrong(at, "%v", err)
	}
}
