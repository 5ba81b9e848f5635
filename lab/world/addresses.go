// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"net/netip"
	"slices"
)

// addresses are the assigned addresses of one network.
type addresses struct {
	network *Network
	index   int // of the network in the world
	taken   map[netip.Addr]bool
	// next is the first address for cards that may be free, and count the number of cards.
	next  netip.Addr
	count uint16
}

// taken returns the addresses of a network that are configured.
func (w *World) taken(n *Network, machines []Machine) *addresses {
	a := &addresses{
		network: n, next: n.Subnet4.Addr().Next(), count: 1, // the gateway's
		index: slices.IndexFunc(w.Networks, func(o Network) bool { return o.Name == n.Name }),
		taken: map[netip.Addr]bool{n.Gateway4: true, n.Gateway6: true},
	}

	for _, r := range w.Routers {
		for _, leg := range r.Legs {
			if leg.Network == n.Name {
				a.taken[leg.Addr4], a.taken[leg.Addr6] = true, true
			}
		}
	}

	for _, m := range machines {
		for _, c := range m.Cards {
			if c.Network == n.Name {
				a.taken[c.Addr4], a.taken[c.Addr6] = true, true
			}
		}
	}

	delete(a.taken, netip.Addr{})

	return a
}

// last assigns the last free addresses, of each kind that is wanted and not configured.
func (a *addresses) last(addr4, addr6 *netip.Addr) error {
	if subnet := a.network.Subnet4; addr4 != nil && subnet.IsValid() && !addr4.IsValid() {
		addr := broadcast(subnet).Prev()
		for a.taken[addr] {
			addr = addr.Prev()
		}

		if !subnet.Contains(addr) || addr == subnet.Addr() {
			return a.full()
		}

		*addr4, a.taken[addr] = addr, true
	}

	if subnet := a.network.Subnet6; addr6 != nil && subnet.IsValid() && !addr6.IsValid() {
		b := subnet.Addr().As16()
		b[14], b[15] = 0xff, 0xfe

		addr := netip.AddrFrom16(b)
		for a.taken[addr] {
			addr = addr.Prev()
		}

		*addr6, a.taken[addr] = addr, true
	}

	return nil
}

// card assigns the addresses of a card.
func (a *addresses) card(c *Card) error {
	a.count++

	if subnet := a.network.Subnet4; subnet.IsValid() && !c.Addr4.IsValid() {
		for a.taken[a.next] {
			a.next = a.next.Next()
		}

		if !subnet.Contains(a.next) || a.next == broadcast(subnet) {
			return a.full()
		}

		c.Addr4, a.taken[a.next] = a.next, true
	}

	if c.MAC == "" {
		c.MAC = cardMAC(c, a.index, a.count).String()
	}

	c.MAC = c.HardwareAddr().String() // in its usual form

	if subnet := a.network.Subnet6; subnet.IsValid() && !c.Addr6.IsValid() {
		c.Addr6 = address6(subnet, c.HardwareAddr(), a.count)
		for subnet.Bits() != 64 && a.taken[c.Addr6] {
			c.Addr6 = c.Addr6.Next()
		}

		a.taken[c.Addr6] = true
	}

	return nil
}

func (a *addresses) full() error {
	return fmt.Errorf("network %s: subnet %v has no free address: choose a larger one", a.network.Name, a.network.Subnet4)
}

// broadcast returns the last address of an IPv4 subnet.
func broadcast(subnet netip.Prefix) netip.Addr {
	b := subnet.Masked().Addr().As4()
	for i := subnet.Bits(); i < 32; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}

	return netip.AddrFrom4(b)
}
