// SPDX-License-Identifier: Apache-2.0

package world

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/router"
)

const defaultMTU = 1500

// Machine is a machine of the lab with its cards.
type Machine struct {
	Name  string
	Cards []Card
}

var (
	everywhere4 = netip.MustParsePrefix("0.0.0.0/0")
	everywhere6 = netip.MustParsePrefix("::/0")
)

// Plan fills in the defaults of a world and its machines' cards, and returns all mistakes in them.
func (w *World) Plan(machines []Machine) error {
	for i := range w.Networks {
		w.Networks[i].setDefaults()
	}

	if err := w.validate(machines); err != nil {
		return err
	}

	taken := map[string]*addresses{}
	for i := range w.Networks {
		taken[w.Networks[i].Name] = w.taken(&w.Networks[i], machines)
	}

	for i := range w.Routers {
		for l := range w.Routers[i].Legs {
			leg := &w.Routers[i].Legs[l]
			if err := taken[leg.Network].last(&leg.Addr4, &leg.Addr6); err != nil {
				return fmt.Errorf("router %s: %w", w.Routers[i].Name, err)
			}
		}
	}

	for _, m := range machines {
		for c := range m.Cards {
			if err := taken[m.Cards[c].Network].card(&m.Cards[c]); err != nil {
				return fmt.Errorf("machine %s: %w", m.Name, err)
			}
		}
	}

	// An assigned address may be configured for another card.
	var errs errorList
	for i := range w.Networks {
		w.validateAddresses(&w.Networks[i], machines, &errs)
	}

	if err := errors.Join(errs...); err != nil {
		return err
	}

	for i := range w.Routers {
		w.route(&w.Routers[i])
	}

	return w.validateRouters()
}

func (n *Network) setDefaults() {
	n.Subnet4, n.Subnet6 = n.Subnet4.Masked(), n.Subnet6.Masked()

	n.MTU = cmp.Or(n.MTU, defaultMTU)

	if n.Subnet4.IsValid() && !n.Gateway4.IsValid() {
		n.Gateway4 = n.Subnet4.Addr().Next()
	}

	if n.Subnet6.IsValid() && !n.Gateway6.IsValid() {
		n.Gateway6 = n.Subnet6.Addr().Next()
	}
}

// route adds default routes to a router without routes.
func (w *World) route(r *Router) {
	if len(r.Routes) > 0 {
		return
	}

	up := w.uplink(r)
	if up == nil {
		return
	}

	network, _ := w.Network(up.Network)
	via4, via6 := w.DefaultRouter(network)

	if via4.IsValid() && up.Addr4.IsValid() {
		r.Routes = append(r.Routes, router.Route{Destination: everywhere4, Gateway: via4})
	}

	if via6.IsValid() && up.Addr6.IsValid() {
		r.Routes = append(r.Routes, router.Route{Destination: everywhere6, Gateway: via6, Leg: up.Network})
	}
}

// uplink returns the leg to the outside: one whose network has another default router, preferably one with a NAT.
func (w *World) uplink(r *Router) *Leg {
	var up *Leg

	for i := range r.Legs {
		leg := &r.Legs[i]
		if n, _ := w.Network(leg.Network); n.Router != r.Name && (up == nil || up.NAT == nil && leg.NAT != nil) {
			up = leg
		}
	}

	return up
}

// DefaultRouter returns the addresses of a network's default router.
func (w *World) DefaultRouter(n *Network) (addr4, addr6 netip.Addr) {
	if r, ok := w.Router(n.Router); ok {
		if leg, ok := r.Leg(n.Name); ok {
			return leg.Addr4, leg.Addr6
		}
	}

	return n.Gateway4, n.Gateway6
}

// LegMAC returns the hardware address of a router's leg on a network.
func (w *World) LegMAC(routerName, network string) router.HardwareAddr {
	for i, r := range w.Routers {
		for l, leg := range r.Legs {
			if r.Name == routerName && leg.Network == network {
				// No card has these: no IPv4 address begins with 255.
				return router.HardwareAddr{0x52, 0x54, 0xff, byte(i), byte(l), 1}
			}
		}
	}

	return router.HardwareAddr{}
}

// RouterConfig returns a router's configuration for package router.
func (w *World) RouterConfig(r *Router) router.Config {
	config := router.Config{Routes: r.Routes}

	for _, leg := range r.Legs {
		network, _ := w.Network(leg.Network)
		l := router.Leg{
			Name: leg.Network, MAC: w.LegMAC(r.Name, leg.Network), MTU: int(cmp.Or(leg.MTU, network.MTU)),
			Setting: leg.Setting,
		}

		if leg.Addr4.IsValid() {
			l.Addresses = append(l.Addresses, netip.PrefixFrom(leg.Addr4, network.Subnet4.Bits()))
		}

		if leg.Addr6.IsValid() {
			l.Addresses = append(l.Addresses, netip.PrefixFrom(leg.Addr6, network.Subnet6.Bits()))
		}

		config.Legs = append(config.Legs, l)
	}

	return config
}

// LastFree returns the last free address of a network's IPv4 subnet.
func (w *World) LastFree(n *Network, machines []Machine) (netip.Addr, error) {
	var addr4 netip.Addr

	err := w.taken(n, machines).last(&addr4, nil)

	return addr4, err
}

// cardMAC returns the default of a card's hardware address, derived from its IPv4 address.
func cardMAC(c *Card, network int, count uint16) net.HardwareAddr {
	if c.Addr4.IsValid() {
		a := c.Addr4.As4()

		return net.HardwareAddr{0x52, 0x54, a[0], a[1], a[2], a[3]}
	}

	return net.HardwareAddr{0x52, 0x54, 0xfe, byte(network), byte(count >> 8), byte(count)}
}

// address6 returns the address that a card gives itself, or that DHCPv6 leases in subnets where hosts cannot.
func address6(subnet netip.Prefix, mac net.HardwareAddr, count uint16) netip.Addr {
	if subnet.Bits() == 64 {
		return gateway.SLAAC(subnet, mac)
	}

	a := subnet.Addr().As16()
	a[14], a[15] = byte(count>>8), byte(count)

	return netip.AddrFrom16(a)
}
