// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"crypto/sha256"
	"net"
	"net/netip"
	"slices"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// linkLocal6 has the addresses that hosts use without any configuration.
var linkLocal6 = netip.MustParsePrefix("fe80::/64")

// SLAAC returns the address that a host with this hardware address gives itself in a /64 without privacy extensions:
// its interface identifier is the modified EUI-64 (RFC 4291, appendix A).
func SLAAC(subnet netip.Prefix, mac net.HardwareAddr) netip.Addr {
	addr := subnet.Masked().Addr().As16()
	header.EthernetAdddressToModifiedEUI64IntoBuf(tcpip.LinkAddress(mac), addr[8:])

	return netip.AddrFrom16(addr)
}

// macOf returns the hardware address whose EUI-64 is the end of an address, or nil.
func macOf(addr netip.Addr) net.HardwareAddr {
	b := addr.As16()
	if b[11] != 0xff || b[12] != 0xfe {
		return nil
	}

	return net.HardwareAddr{b[8] ^ 2, b[9], b[10], b[13], b[14], b[15]}
}

// DefaultSubnet6 returns the IPv6 subnet of a network that has none configured: a unique local /64 (RFC 4193), derived
// from the network's name, so that it is the same each time.
func DefaultSubnet6(network string) netip.Prefix {
	sum := sha256.Sum256([]byte(network))

	var addr [16]byte

	addr[0] = 0xfd
	copy(addr[1:8], sum[:7])

	return netip.PrefixFrom(netip.AddrFrom16(addr), 64)
}

// prefixes returns the gateway's own addresses, each with its subnet's length.
func (c *Config) prefixes() []netip.Prefix {
	var own []netip.Prefix

	if c.Subnet4.IsValid() {
		own = append(own, netip.PrefixFrom(c.Addr4, c.Subnet4.Bits()))
	}

	if c.Subnet6.IsValid() {
		own = append(own, netip.PrefixFrom(c.Addr6, c.Subnet6.Bits()))
	}

	return own
}

// own returns the gateway's own addresses.
func (c *Config) own() []netip.Addr {
	var own []netip.Addr
	for _, p := range c.prefixes() {
		own = append(own, p.Addr())
	}

	return own
}

// inside returns all prefixes of the lab.
func (c *Config) inside() []netip.Prefix {
	inside := slices.Clone(c.Inside)
	for _, own := range c.prefixes() {
		inside = append(inside, own.Masked())
	}

	for _, h := range c.Hosts {
		if h.Delegated.IsValid() {
			inside = append(inside, h.Delegated)
		}
	}

	return inside
}

// addrs4 and addrs6 return the addresses of a host, leased ones first.
func (c *Config) addrs4(h *Host) []netip.Addr {
	if !c.Subnet4.IsValid() {
		return nil
	}

	return []netip.Addr{h.Addr4}
}

func (c *Config) addrs6(h *Host) []netip.Addr {
	if !c.Subnet6.IsValid() {
		return nil
	}

	addrs := []netip.Addr{h.Addr6}
	if own := SLAAC(c.Subnet6, h.MAC); c.Subnet6.Bits() == 64 && !c.RA.NoAutonomous && own != h.Addr6 {
		addrs = append(addrs, own)
	}

	return addrs
}
