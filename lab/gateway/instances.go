// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/lab/gateway/metadata"
)

// allInstances returns the instances of the hosts that are on a cloud.
func (c *Config) allInstances() []metadata.Instance {
	var instances []metadata.Instance

	for i := range c.Hosts {
		if in := c.instance(&c.Hosts[i], c.Hosts[i].Instance); in.Platform != "" {
			instances = append(instances, in)
		}
	}

	return instances
}

// instance fills in what a host's instance leaves out.
func (c *Config) instance(h *Host, in metadata.Instance) metadata.Instance {
	in.Platform, in.Name, in.Domain = cmp.Or(in.Platform, c.Cloud), h.Name, cmp.Or(in.Domain, c.Domain)

	if in.DNS == nil && c.has(ServiceDNS) {
		in.DNS = c.own()
	}

	if in.Cards != nil {
		return in
	}

	card := metadata.Card{MAC: h.MAC, MTU: int(c.MTU)}

	if c.Subnet4.IsValid() {
		card.Addrs = append(card.Addrs, netip.PrefixFrom(h.Addr4, c.Subnet4.Bits()))
		card.Routers = append(card.Routers, cmp.Or(c.Router4, c.Addr4))
	}

	if c.Subnet6.IsValid() {
		card.Addrs = append(card.Addrs, netip.PrefixFrom(h.Addr6, c.Subnet6.Bits()))
		card.Routers = append(card.Routers, cmp.Or(c.Router6, c.Addr6))
	}

	in.Cards = []metadata.Card{card}

	return in
}

// clouds returns the platforms of the network's metadata server.
func (c *Config) clouds() []string {
	if !c.has(ServiceMetadata) {
		return nil
	}

	var clouds []string

	for _, in := range c.allInstances() {
		if !slices.Contains(clouds, in.Platform) {
			clouds = append(clouds, in.Platform)
		}
	}

	return clouds
}

// metadataAddrs returns the addresses of the metadata server: those of its clouds, and the gateway's own, which some
// clouds use instead.
func (c *Config) metadataAddrs() []netip.Addr {
	return append(c.fixedMetadataAddrs(), c.own()...)
}

// metadataPrefixes returns the metadata server's own addresses for the stack.
func (c *Config) metadataPrefixes() []netip.Prefix {
	var prefixes []netip.Prefix
	for _, addr := range c.fixedMetadataAddrs() {
		prefixes = append(prefixes, netip.PrefixFrom(addr, addr.BitLen()))
	}

	return prefixes
}

// metadataNames returns the DNS names of the network's clouds.
func (c *Config) metadataNames() []namedAddrs {
	var names []namedAddrs

	for _, cloud := range c.clouds() {
		addrs := slices.DeleteFunc(slices.Clone(metadata.Addresses(cloud)), func(addr netip.Addr) bool { return !c.family(addr) })
		if len(addrs) == 0 {
			addrs = c.own()
		}

		for _, name := range metadata.Names(cloud) {
			names = append(names, namedAddrs{name, addrs})
		}
	}

	return names
}

func (c *Config) fixedMetadataAddrs() []netip.Addr {
	var addrs []netip.Addr

	for _, cloud := range c.clouds() {
		for _, addr := range metadata.Addresses(cloud) {
			if c.family(addr) && !slices.Contains(addrs, addr) {
				addrs = append(addrs, addr)
			}
		}
	}

	return addrs
}

// family reports whether the network has an address's protocol.
func (c *Config) family(addr netip.Addr) bool {
	return addr.Is4() && c.Subnet4.IsValid() || addr.Is6() && c.Subnet6.IsValid()
}
