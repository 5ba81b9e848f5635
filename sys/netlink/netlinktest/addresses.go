// SPDX-License-Identifier: Apache-2.0

package netlinktest

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlink"
)

// Metrics of the kernel's own routes of IPv6, and of routes that are set without one.
const (
	connectedMetric6 = 256
	defaultMetric6   = 1024
)

// AddAddress implements netlink.Kernel.
func (k *Kernel) AddAddress(a netlink.Address) error {
	return k.change("AddAddress", fmt.Sprintf("%s on %d", a.Prefix, a.LinkIndex), func() error {
		if errno := k.checkAddress(a); errno != 0 {
			return fmt.Errorf("add address %s to link %d: %w", a.Prefix, a.LinkIndex, errno)
		}

		k.add(a)

		return nil
	})
}

func (k *Kernel) checkAddress(a netlink.Address) unix.Errno {
	l, ok := k.link(a.LinkIndex)

	switch {
	case !ok:
		return unix.ENODEV
	case slices.ContainsFunc(k.addresses, a.Same):
		return unix.EEXIST
	case a.Prefix.Addr().Is6() && l.MTU < netlink.MinMTU6:
		return unix.EINVAL
	default:
		return 0
	}
}

func (k *Kernel) add(a netlink.Address) {
	if a.Prefix.Addr().Is6() {
		a.Scope = scope6(a.Prefix.Addr())
	} else if slices.ContainsFunc(k.addresses, func(o netlink.Address) bool {
		return o.LinkIndex == a.LinkIndex && o.Prefix.Masked() == a.Prefix.Masked()
	}) {
		a.Flags |= unix.IFA_F_SECONDARY
	}

	// All addresses here are permanent, except those of SLAAC.
	if a.Flags&unix.IFA_F_MANAGETEMPADDR == 0 {
		a.Flags |= unix.IFA_F_PERMANENT
	}

	k.addresses = append(k.addresses, a)
	k.connect(a)
	k.notify(netlink.WatchAddresses)
}

// scope6 returns the scope that the kernel sets for an IPv6 address, whatever is requested.
func scope6(a netip.Addr) uint8 {
	siteLocal := netip.MustParsePrefix("fec0::/10")

	switch {
	case a.IsLoopback():
		return unix.RT_SCOPE_HOST
	case a.IsLinkLocalUnicast():
		return unix.RT_SCOPE_LINK
	case siteLocal.Contains(a):
		return unix.RT_SCOPE_SITE
	default:
		return unix.RT_SCOPE_UNIVERSE
	}
}

// connect adds the route to the network of an address, over a link that is up.
func (k *Kernel) connect(a netlink.Address) {
	l, ok := k.link(a.LinkIndex)
	if !ok || !l.Up() || a.Flags&(unix.IFA_F_NOPREFIXROUTE|unix.IFA_F_SECONDARY) != 0 || a.Prefix.Addr().IsLoopback() {
		return
	}

	r := netlink.Route{
		Family: unix.AF_INET, Destination: a.Prefix.Masked(), LinkIndex: a.LinkIndex, Table: unix.RT_TABLE_MAIN, Type: unix.RTN_UNICAST,
		Protocol: unix.RTPROT_KERNEL, Scope: unix.RT_SCOPE_LINK, Source: a.Prefix.Addr(), Priority: a.Priority,
	}

	switch {
	case a.Prefix.Addr().Is6():
		r.Family, r.Scope, r.Source = unix.AF_INET6, unix.RT_SCOPE_UNIVERSE, netip.Addr{}
		r.Priority = cmp.Or(a.Priority, connectedMetric6)
	case a.Prefix.IsSingleIP():
		return
	}

	if !slices.ContainsFunc(k.routes, func(o netlink.Route) bool { return o.Key() == r.Key() && o.SameWay(r) }) {
		k.routes = append(k.routes, r)
	}
}

// SetAddressPriority implements netlink.Kernel.
func (k *Kernel) SetAddressPriority(a netlink.Address) error {
	return k.change("SetAddressPriority", fmt.Sprintf("%s on %d to %d", a.Prefix, a.LinkIndex, a.Priority), func() error {
		i := slices.IndexFunc(k.addresses, a.Same)
		if i < 0 {
			return fmt.Errorf("set metric of address %s on link %d: %w", a.Prefix, a.LinkIndex, unix.ENOENT)
		}

		before := k.addresses[i].Priority
		if a.Prefix.Addr().Is6() {
			before = cmp.Or(before, connectedMetric6)
		}

		k.addresses[i].Priority = a.Priority

		k.routes = slices.DeleteFunc(k.routes, func(r netlink.Route) bool {
			return r.Protocol == unix.RTPROT_KERNEL && r.Destination == a.Prefix.Masked() && r.LinkIndex == a.LinkIndex && r.Priority == before
		})
		k.connect(k.addresses[i])
		k.notify(netlink.WatchAddresses)

		return nil
	})
}

// DeleteAddress implements netlink.Kernel.
func (k *Kernel) DeleteAddress(a netlink.Address) error {
	return k.change("DeleteAddress", fmt.Sprintf("%s on %d", a.Prefix, a.LinkIndex), func() error {
		i := slices.IndexFunc(k.addresses, func(o netlink.Address) bool { return o.LinkIndex == a.LinkIndex && o.Prefix == a.Prefix })
		if i < 0 {
			return nil
		}

		removed := k.addresses[i]
		k.addresses = slices.Delete(k.addresses, i, i+1)

		if removed.Prefix.Addr().Is6() {
			k.disconnect6(removed)
		} else {
			k.disconnect4(removed)
		}

		k.notify(netlink.WatchAddresses)

		return nil
	})
}

// disconnect4 removes what depends on an IPv4 address: the network's route and other addresses, unless one of them is promoted, routes with
// it as their source, and with the last address all routes of the link.
func (k *Kernel) disconnect4(removed netlink.Address) {
	same := func(a netlink.Address) bool {
		return a.LinkIndex == removed.LinkIndex && a.Prefix.Masked() == removed.Prefix.Masked()
	}
	sources := []netip.Addr{removed.Prefix.Addr()}

	if removed.Flags&unix.IFA_F_SECONDARY == 0 {
		k.routes = slices.DeleteFunc(k.routes, func(r netlink.Route) bool {
			return r.LinkIndex == removed.LinkIndex && r.Protocol == unix.RTPROT_KERNEL && r.Destination == removed.Prefix.Masked()
		})

		if i := slices.IndexFunc(k.addresses, same); i >= 0 && k.Promote {
			k.addresses[i].Flags &^= unix.IFA_F_SECONDARY
			k.connect(k.addresses[i])
		} else {
			for _, a := range k.addresses {
				if same(a) {
					sources = append(sources, a.Prefix.Addr())
				}
			}

			k.addresses = slices.DeleteFunc(k.addresses, same)
		}
	}

	last := !slices.ContainsFunc(k.addresses, func(a netlink.Address) bool { return a.LinkIndex == removed.LinkIndex && a.Prefix.Addr().Is4() })

	k.routes = slices.DeleteFunc(k.routes, func(r netlink.Route) bool {
		return r.Family == unix.AF_INET && (slices.Contains(sources, r.Source) || last && r.LinkIndex == removed.LinkIndex)
	})
}

// disconnect6 removes the network's route with the last address in it; routes with the address as their source lose the source.
func (k *Kernel) disconnect6(removed netlink.Address) {
	if !slices.ContainsFunc(k.addresses, func(a netlink.Address) bool {
		return a.LinkIndex == removed.LinkIndex && a.Prefix.Masked() == removed.Prefix.Masked()
	}) {
		k.routes = slices.DeleteFunc(k.routes, func(r netlink.Route) bool {
			return r.LinkIndex == removed.LinkIndex && r.Protocol == unix.RTPROT_KERNEL && r.Destination == removed.Prefix.Masked()
		})
	}

	for i := range k.routes {
		if k.routes[i].Source == removed.Prefix.Addr() {
			k.routes[i].Source = netip.Addr{}
		}
	}
}

// Advertise makes a router advertise its flags on a link, a prefix for addresses if there is one, and a default route if the router is valid.
// The lifetimes are infinite.
func (k *Kernel) Advertise(index uint32, flags netlink.RouterFlags, prefix netip.Prefix, router netip.Addr) {
	k.mu.Lock()
	defer k.mu.Unlock()

	l, ok := k.link(index)
	if !ok || !l.Up() {
		return
	}

	l.Router = flags | netlink.RouterSeen

	if prefix.IsValid() {
		b := prefix.Addr().As16()
		b[15] = byte(index)

		a := netlink.Address{
			LinkIndex: index, Prefix: netip.PrefixFrom(netip.AddrFrom16(b), prefix.Bits()), Flags: unix.IFA_F_MANAGETEMPADDR | unix.IFA_F_NOPREFIXROUTE,
		}
		if k.checkAddress(a) == 0 {
			k.add(a)
		}
	}

	if router.IsValid() {
		r := netlink.Route{
			Family: unix.AF_INET6, Gateway: router, LinkIndex: index, Table: unix.RT_TABLE_MAIN, Priority: defaultMetric6,
			Type: unix.RTN_UNICAST, Protocol: unix.RTPROT_RA,
		}
		if !slices.ContainsFunc(k.routes, func(o netlink.Route) bool { return o.Key() == r.Key() && o.SameWay(r) }) {
			k.routes = append(k.routes, r)
		}
	}

	k.notify(netlink.WatchLinks)
}
