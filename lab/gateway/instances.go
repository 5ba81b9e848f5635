// SPDX-License-Identifier: Apache-2.0

package gateway

import (
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

// instance fills in what a host's instance leaves to the network.
func (c *Config) instance(h *Host, in metadata.Instance) metadata.Instance {
	if in.Platform == "" {
		in.Platform = c.Cloud
	}

	in.Name = h.Name

	if in.Domain == "" {
		in.Domain = c.Domain
	}

	if in.DNS == nil && c.has(ServiceDNS) {
		for _, own := range c.prefixes() {
			in.DNS = append(in.DNS, own.Addr())
		}
	}

	if in.Cards != nil {
		return in
	}

	card := metadata.Card{MAC: h.MAC, MTU: int(c.MTU)}

	if c.Subnet4.IsValid() {
		router := c.Addr4
		if c.Router4.IsValid() {
			router = c.Router4
		}

		card.Addrs = append(card.Addrs, netip.PrefixFrom(h.Addr4, c.Subnet4.Bits()))
		card.Routers = append(card.Routers, router)
	}

	if c.Subnet6.IsValid() {
		router := c.Addr6
		if c.Router6.IsValid() {
			router = c.Router6
		}

		card.Addrs = append(card.Addrs, netip.PrefixFrom(h.Addr6, c.Subnet6.Bits()))
		card.Routers = append(card.Routers, router)
	}

	in.Cards = []metadata.Card{card}

	return in
}

// clouds returns the platforms that the network's metadata server plays.
func (c *Config) clouds() []string {
	var clouds []string
	if !c.has(ServiceMetadata) {
		return nil
	}

	for _, in := range c.allInstances() {
		if !slices.Contains(clouds, in.Platform) {
			clouds = append(clouds, in.Platform)
		}
	}

	return clouds
}

// metadataAddrs returns where the metadata server listens: where its clouds do,
// on the gateway's own addresses too, which some clouds have instead.
func (c *Config) metadataAddrs() []netip.Addr {
	addrs := c.fixedMetadataAddrs()
	for _, own := range c.prefixes() {
		addrs = append(addrs, own.Addr())
	}

	return addrs
}

// metadataPrefixes are the metadata server's own addresses for the stack.
func (c *Config) metadataPrefixes() []netip.Prefix {
	var prefixes []netip.Prefix
	for _, addr := range c.fixedMetadataAddrs() {
		prefixes = append(prefixes, netip.PrefixFrom(addr, addr.BitLen()))
	}

	return prefixes
}

// metadataNames returns what DNS has for the network's clouds.
func (c *Config) metadataNames() []namedAddrs {
	var names []namedAddrs

	for _, cloud := range c.clouds() {
		addrs := slices.DeleteFunc(slices.Clone(metadata.Addresses(cloud)), func(addr netip.Addr) bool {
			return !slices.Contains(c.fixedMetadataAddrs(), addr)
		})
		if len(addrs) == 0 {
			for _, own := range c.prefixes() {
				addrs = append(addrs, own.Addr())
			}
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
			family := addr.Is4() && c.Subnet4.IsValid() || addr.Is6() && c.Subnet6.IsValid()
			if family && !slices.Contains(addrs, addr) {
				addrs = append(addrs, addr)
			}
		}
	}

	return addrs
}
