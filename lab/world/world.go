// SPDX-License-Identifier: Apache-2.0

package world

import (
	"net"
	"net/netip"

	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/router"
)

// World is the networks and routers of a lab.
type World struct {
	Networks []Network `json:"networks"`
	Routers  []Router  `json:"routers,omitempty"`
}

// Network is one Ethernet, with IPv4, IPv6 or both.
type Network struct {
	Name string `json:"name"`
	// Subnet4 and Subnet6 exist only inside the lab.
	Subnet4 netip.Prefix `json:"subnet4,omitzero"`
	Subnet6 netip.Prefix `json:"subnet6,omitzero"`
	// Gateway4 and Gateway6 are the addresses of the gateway, by default the first of each subnet.
	Gateway4 netip.Addr `json:"gateway4,omitzero"`
	Gateway6 netip.Addr `json:"gateway6,omitzero"`
	// MTU is 1500 by default.
	MTU uint16 `json:"mtu,omitempty"`
	// Router is the name of the machines' default router, by default the gateway.
	Router string `json:"router,omitempty"`
	// Offline gateways have no connection to the world.
	Offline bool `json:"offline,omitempty"`
	// Services of the gateway.
	Services Services `json:"services,omitzero"`
}

// Services are the services of a network and their behaviour. The zero value is healthy.
type Services struct {
	// Only is the services that run, by default all that the network's protocols allow.
	Only []gateway.Service `json:"only,omitempty"`
	// Cloud is the platform whose metadata server runs, if any.
	Cloud string `json:"cloud,omitempty"`

	DHCP     gateway.DHCPBehaviour       `json:"dhcp,omitzero"`
	DHCPv6   gateway.DHCPv6Behaviour     `json:"dhcpv6,omitzero"`
	RA       gateway.RouterAdvertisement `json:"ra,omitzero"`
	DNS      gateway.DNSBehaviour        `json:"dns,omitzero"`
	NTP      gateway.NTPBehaviour        `json:"ntp,omitzero"`
	Metadata gateway.MetadataBehaviour   `json:"metadata,omitzero"`

	// SecondDHCP is one more DHCP server on the network.
	SecondDHCP *gateway.DHCPBehaviour `json:"secondDHCP,omitempty"`
}

// Validate returns an error for a behaviour that is not possible.
func (s Services) Validate() error {
	errs := []interface{ Validate() error }{s.DHCP, s.DHCPv6, s.RA, s.DNS, s.NTP, s.Metadata}
	if s.SecondDHCP != nil {
		errs = append(errs, *s.SecondDHCP)
	}

	for _, behaviour := range errs {
		if err := behaviour.Validate(); err != nil {
			return err
		}
	}

	return nil
}

// Router connects networks.
type Router struct {
	Name string `json:"name"`
	Legs []Leg  `json:"legs"`
	// Routes beyond the networks of the legs. By default, a router with a leg on a network whose default router is the
	// gateway has default routes to that gateway.
	Routes []router.Route `json:"routes,omitempty"`
}

// Leg is a router's card on a network.
type Leg struct {
	// Network names the network, and the leg.
	Network string `json:"network"`
	// Addr4 and Addr6 are by default the last free ones of the subnets.
	Addr4 netip.Addr `json:"addr4,omitzero"`
	Addr6 netip.Addr `json:"addr6,omitzero"`
	// MTU is the network's by default.
	MTU uint16 `json:"mtu,omitempty"`

	Setting
}

// Setting is the part of a leg that can change while the lab runs.
type Setting = router.Setting

// Card is a machine's network card.
type Card struct {
	Network string `json:"network"`
	// MAC is derived from the address by default.
	MAC string `json:"mac,omitempty"`
	// Addr4 and Addr6 are the card's addresses, by default the next free ones.
	Addr4 netip.Addr `json:"addr4,omitzero"`
	Addr6 netip.Addr `json:"addr6,omitzero"`
	// Unplugged cards are missing when the machine is switched on.
	Unplugged bool `json:"unplugged,omitempty"`
}

// Addr returns the card's IPv4 address or, without one, its IPv6 address.
func (c Card) Addr() netip.Addr {
	if c.Addr4.IsValid() {
		return c.Addr4
	}

	return c.Addr6
}

// HardwareAddr returns the MAC of a card after Plan.
func (c Card) HardwareAddr() net.HardwareAddr {
	mac, _ := net.ParseMAC(c.MAC)

	return mac
}

// Network returns a network by its name.
func (w *World) Network(name string) (*Network, bool) {
	return find(w.Networks, func(n *Network) bool { return n.Name == name })
}

// Router returns a router by its name.
func (w *World) Router(name string) (*Router, bool) {
	return find(w.Routers, func(r *Router) bool { return r.Name == name })
}

// Leg returns a router's leg on a network.
func (r *Router) Leg(network string) (*Leg, bool) {
	return find(r.Legs, func(l *Leg) bool { return l.Network == network })
}

func find[T any](all []T, is func(*T) bool) (*T, bool) {
	for i := range all {
		if is(&all[i]) {
			return &all[i], true
		}
	}

	return nil, false
}
