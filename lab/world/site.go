// SPDX-License-Identifier: Apache-2.0

package world

import (
	"net/netip"

	"github.com/seed-59268b81/talos/lab/nat"
)

// Internet is the network that sites share.
const Internet = "internet"

// InternetSubnet is its subnet: public addresses that are reserved for documentation (RFC 5737, TEST-NET-3), and so
// unused on the real Internet.
var InternetSubnet = netip.MustParsePrefix("203.0.113.0/24")

// Site is a network behind a router with a NAT.
type Site struct {
	// Name of the network. Its router is NAME-router.
	Name string
	// Subnet of the site, 10.6.N.0/24 for the N-th site by default. Several sites may have the same one, as homes do.
	Subnet netip.Prefix
	// NAT of the site's router; External is the router's address.
	NAT nat.Config
	// BlockUDP drops UDP that would cross the router.
	BlockUDP bool
}

// RouterName returns the name of the site's router.
func (s Site) RouterName() string { return s.Name + "-router" }

// Add adds sites to a world, and the network that they share if it does not exist.
func (w *World) Add(sites ...Site) {
	if _, ok := w.Network(Internet); !ok && len(sites) > 0 {
		w.Networks = append(w.Networks, Network{Name: Internet, Subnet4: InternetSubnet})
	}

	for i, s := range sites {
		if !s.Subnet.IsValid() {
			s.Subnet = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 6, byte(i + 1), 0}), 24)
		}

		w.Networks = append(w.Networks, Network{Name: s.Name, Subnet4: s.Subnet, Router: s.RouterName()})
		w.Routers = append(w.Routers, Router{Name: s.RouterName(), Legs: []Leg{
			{Network: s.Name},
			{Network: Internet, Setting: Setting{NAT: &s.NAT, BlockUDP: s.BlockUDP}},
		}})
	}
}
