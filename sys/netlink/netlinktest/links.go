// SPDX-License-Identifier: Apache-2.0

package netlinktest

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlink"
)

const (
	operDown = 2
	operUp   = 6
)

// Plug adds a link as hardware does, with the next index unless it has one. A link that is up has a cable.
func (k *Kernel) Plug(l netlink.Link) netlink.Link {
	k.mu.Lock()
	defer k.mu.Unlock()

	if l.Index == 0 {
		k.next++
		l.Index = k.next
	}

	k.next = max(k.next, l.Index)
	if l.MTU == 0 {
		l.MTU = 1500
	}

	k.links = append(k.links, l)
	k.notify(netlink.WatchLinks)

	return l
}

// Unplug removes a link with its addresses and routes.
func (k *Kernel) Unplug(index uint32) {
	k.mu.Lock()
	defer k.mu.Unlock()

	k.remove(index)
}

func (k *Kernel) remove(index uint32) {
	removed, ok := k.link(index)
	if !ok {
		return
	}

	peer := removed.Parent
	k.links = slices.DeleteFunc(k.links, func(l netlink.Link) bool { return l.Index == index })
	k.addresses = slices.DeleteFunc(k.addresses, func(a netlink.Address) bool { return a.LinkIndex == index })
	k.routes = slices.DeleteFunc(k.routes, func(r netlink.Route) bool { return r.LinkIndex == index })

	for i := range k.links {
		if k.links[i].Master == index {
			k.links[i].Master = 0
		}
	}

	for _, above := range slices.Clone(k.links) { // tagged links are removed with their parent
		if above.Kind == "vlan" && above.Parent == index {
			k.remove(above.Index)
		}
	}

	if removed.Kind == "veth" {
		k.remove(peer)
	}

	k.notify(netlink.WatchLinks)
}

func (k *Kernel) link(index uint32) (*netlink.Link, bool) {
	i := slices.IndexFunc(k.links, func(l netlink.Link) bool { return l.Index == index })
	if i < 0 {
		return nil, false
	}

	return &k.links[i], true
}

// Carrier plugs or unplugs the cable of a link. Addresses and routes stay.
func (k *Kernel) Carrier(index uint32, on bool) {
	k.mu.Lock()
	defer k.mu.Unlock()

	if l, ok := k.link(index); ok {
		k.setCarrier(l, on)
	}

	k.notify(netlink.WatchLinks)
}

func (k *Kernel) setCarrier(l *netlink.Link, on bool) {
	const flags = unix.IFF_RUNNING | unix.IFF_LOWER_UP

	l.Flags, l.OperState = l.Flags&^flags, operDown
	if on {
		l.Flags, l.OperState = l.Flags|flags, operUp
	}

	for i := range k.routes {
		if r := &k.routes[i]; r.LinkIndex == l.Index {
			r.Flags &^= unix.RTNH_F_LINKDOWN
			if !on {
				r.Flags |= unix.RTNH_F_LINKDOWN
			}
		}
	}
}

// CreateLink implements netlink.Kernel.
func (k *Kernel) CreateLink(n netlink.NewLink) error {
	return k.change("CreateLink", n.Kind+" "+n.Name, func() error {
		if errno := k.checkNew(n); errno != 0 {
			return fmt.Errorf("create %s link %s: %w", n.Kind, n.Name, errno)
		}

		l := k.create(n, n.Name)

		if n.Kind == "veth" {
			peer := k.create(n, n.VethPeer)
			k.links[len(k.links)-1].Parent, k.links[len(k.links)-2].Parent = l, peer
		}

		created, _ := k.link(l)
		created.Master = n.Master

		if n.Up {
			k.setUp(created, true)
		}

		k.notify(netlink.WatchLinks)

		return nil
	})
}

func (k *Kernel) checkNew(n netlink.NewLink) unix.Errno {
	switch {
	case len(n.Name) > netlink.MaxName || len(n.VethPeer) > netlink.MaxName:
		return unix.ERANGE
	case slices.ContainsFunc(k.links, func(l netlink.Link) bool { return l.Named(n.Name) }):
		return unix.EEXIST
	case n.Master != 0:
		if master, ok := k.link(n.Master); !ok {
			return unix.EINVAL
		} else if errno := checkMaster(master, n.Up); errno != 0 {
			return errno
		}
	}

	if n.Kind != "vlan" {
		return 0
	}

	parent, ok := k.link(n.Parent)

	switch {
	case !ok:
		return unix.ENODEV
	case slices.ContainsFunc(k.links, func(l netlink.Link) bool { return l.VLAN != nil && l.Parent == n.Parent && *l.VLAN == *n.VLAN }):
		return unix.EEXIST
	case n.Up && !parent.Up():
		return unix.ENETDOWN
	default:
		return 0
	}
}

// checkMaster checks whether a link, which may be up, can belong to a master.
func checkMaster(master *netlink.Link, up bool) unix.Errno {
	switch {
	case master.Kind != "bond" && master.Kind != "bridge" && master.Kind != "vrf":
		return unix.EOPNOTSUPP
	case master.Kind == "bond" && up:
		return unix.EPERM
	default:
		return 0
	}
}

func (k *Kernel) create(n netlink.NewLink, name string) uint32 {
	k.next++

	mtu := uint32(1500)
	if parent, ok := k.link(n.Parent); ok && n.Kind == "vlan" {
		mtu = parent.MTU
	}

	hardware := uint16(unix.ARPHRD_ETHER)

	var wireguard *netlink.WireGuard

	if n.Kind == "wireguard" {
		hardware, wireguard = unix.ARPHRD_NONE, &netlink.WireGuard{}
	}

	k.links = append(k.links, netlink.Link{
		Name: name, Index: k.next, Type: hardware, Kind: n.Kind, Parent: n.Parent, MTU: mtu, MinMTU: 68, MaxMTU: 65535,
		VLAN: n.VLAN, Bridge: n.Bridge, Bond: n.Bond, VRF: n.VRF, WireGuard: wireguard, Flags: unix.IFF_MULTICAST, OperState: operDown, Address: []byte{2, 0, 0, 0, 0, byte(k.next)},
	})

	return k.next
}

// SetLink implements netlink.Kernel.
func (k *Kernel) SetLink(index uint32, change netlink.LinkChange) error {
	return k.change("SetLink", describe(index, change), func() error {
		l, ok := k.link(index)
		if !ok {
			return fmt.Errorf("set link %d: %w", index, unix.ENODEV)
		}

		if errno := k.checkChange(l, change); errno != 0 {
			return fmt.Errorf("set link %d: %w", index, errno)
		}

		if change.MTU != nil {
			k.setMTU(l, *change.MTU)
		}

		if change.Address != nil {
			l.Address = change.Address
		}

		if change.Master != nil {
			l.Master = *change.Master
		}

		if m := change.Multicast; m != nil {
			l.Flags &^= unix.IFF_MULTICAST
			if *m {
				l.Flags |= unix.IFF_MULTICAST
			}
		}

		if change.WireGuard != nil {
			settings := *change.WireGuard
			settings.PublicKey = settings.PrivateKey.Public()
			l.WireGuard = &settings

			return nil // without a message
		}

		if change.Bridge != nil {
			l.Bridge = change.Bridge
		}

		if change.Bond != nil {
			l.Bond = change.Bond
		}

		if change.Up != nil && *change.Up != l.Up() {
			k.setUp(l, *change.Up)
		}

		k.notify(netlink.WatchLinks)

		return nil
	})
}

func (k *Kernel) checkChange(l *netlink.Link, change netlink.LinkChange) unix.Errno {
	if m := change.MTU; m != nil && (*m < l.MinMTU || l.MaxMTU != 0 && *m > l.MaxMTU) {
		return unix.EINVAL
	}

	if change.Bond != nil {
		c, err := change.Bond.Change(l.Bond)

		switch {
		case err != nil || change.BondNow == nil:
			return unix.EINVAL
		case c.Remake:
			return unix.ENOTEMPTY
		case c.Down && l.Up():
			return unix.EPERM
		}
	}

	if change.Master != nil && *change.Master != 0 {
		master, ok := k.link(*change.Master)
		if !ok {
			return unix.EINVAL
		}

		return checkMaster(master, l.Up())
	}

	return 0
}

// setMTU changes the MTU; below the minimum of IPv6 the link has no IPv6.
func (k *Kernel) setMTU(l *netlink.Link, mtu uint32) {
	l.MTU = mtu

	if mtu < netlink.MinMTU6 {
		k.dropIPv6(l.Index)
	}
}

// setUp sets a link up or down; when it goes down, its routes and its IPv6 addresses are removed.
func (k *Kernel) setUp(l *netlink.Link, up bool) {
	l.Flags &^= unix.IFF_UP
	if up {
		l.Flags |= unix.IFF_UP
	}

	if !up {
		k.routes = slices.DeleteFunc(k.routes, func(r netlink.Route) bool { return r.LinkIndex == l.Index })
		k.dropIPv6(l.Index)
	}

	k.connectCable(l)

	if !up {
		return
	}

	for _, a := range k.addresses {
		if a.LinkIndex == l.Index {
			k.connect(a)
		}
	}
}

// connectCable sets the carrier of a link that is up; a veth also needs its peer up.
func (k *Kernel) connectCable(l *netlink.Link) {
	on := l.Up()

	if peer, ok := k.link(l.Parent); ok && l.Kind == "veth" {
		on = on && peer.Up()
		k.setCarrier(peer, on)
	}

	k.setCarrier(l, on)
}

func (k *Kernel) dropIPv6(index uint32) {
	k.addresses = slices.DeleteFunc(k.addresses, func(a netlink.Address) bool { return a.LinkIndex == index && a.Prefix.Addr().Is6() })
	k.routes = slices.DeleteFunc(k.routes, func(r netlink.Route) bool { return r.LinkIndex == index && r.Family == unix.AF_INET6 })
}

// DeleteLink implements netlink.Kernel.
func (k *Kernel) DeleteLink(index uint32) error {
	return k.change("DeleteLink", index, func() error {
		if l, ok := k.link(index); ok && l.Kind == "" {
			return fmt.Errorf("delete link %d: %w", index, unix.EOPNOTSUPP)
		}

		k.remove(index)

		return nil
	})
}

func describe(index uint32, c netlink.LinkChange) string {
	s := fmt.Sprint(index)

	if c.Up != nil {
		s += fmt.Sprintf(" up=%v", *c.Up)
	}

	if c.Multicast != nil {
		s += fmt.Sprintf(" multicast=%v", *c.Multicast)
	}

	if c.MTU != nil {
		s += fmt.Sprintf(" mtu=%d", *c.MTU)
	}

	if c.Address != nil {
		s += fmt.Sprintf(" address=%x", c.Address)
	}

	if c.Master != nil {
		s += fmt.Sprintf(" master=%d", *c.Master)
	}

	if c.WireGuard != nil {
		s += " wireguard"
	}

	if c.Bridge != nil || c.Bond != nil {
		s += " " + c.Kind
	}

	return s
}
