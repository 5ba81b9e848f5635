// SPDX-License-Identifier: Apache-2.0

package netlinktest

import (
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlink"
)

// loopbackIndex is that of the loopback, which routes of IPv6 to nowhere have.
const loopbackIndex = 1

// ReplaceRoute implements netlink.Kernel.
func (k *Kernel) ReplaceRoute(r netlink.Route) error {
	return k.change("ReplaceRoute", r, func() error {
		if r.Family == unix.AF_INET6 {
			r.Scope = unix.RT_SCOPE_UNIVERSE
			if r.Priority == 0 {
				r.Priority = defaultMetric6
			}
		}

		if errno := k.checkRoute(&r); errno != 0 {
			return fmt.Errorf("set route %s: %w", r, errno)
		}

		if l, ok := k.link(r.LinkIndex); ok && !l.Carrier() {
			r.Flags |= unix.RTNH_F_LINKDOWN
		}

		i := slices.IndexFunc(k.routes, func(o netlink.Route) bool { return o.Key() == r.Key() && replaceable(o, r) })
		if i < 0 {
			k.routes = append(k.routes, r)
		} else {
			k.routes[i] = r
		}

		k.notify(netlink.WatchRoutes)

		return nil
	})
}

// replaceable reports whether a route replaces another with its key. For IPv6, a route with a gateway does not replace one without.
func replaceable(have, want netlink.Route) bool {
	return want.Family == unix.AF_INET || have.Gateway.IsValid() == want.Gateway.IsValid()
}

// checkRoute checks what a route needs, and sets its link.
func (k *Kernel) checkRoute(r *netlink.Route) unix.Errno {
	if r.Destination.IsValid() && r.Destination != r.Destination.Masked() {
		return unix.EINVAL
	}

	if r.Type != unix.RTN_UNICAST && r.Type != unix.RTN_UNSPEC { // it goes nowhere
		if r.Family == unix.AF_INET6 {
			r.LinkIndex = loopbackIndex
		}

		return 0
	}

	for _, hop := range r.NextHops {
		if _, ok := k.link(hop.LinkIndex); !ok {
			return unix.ENODEV
		}
	}

	if len(r.NextHops) > 0 {
		return 0
	}

	if r.LinkIndex != 0 {
		switch l, ok := k.link(r.LinkIndex); {
		case !ok:
			return unix.ENODEV
		case !l.Up() && (!r.Gateway.IsValid() || r.Family == unix.AF_INET6):
			return unix.ENETDOWN
		}
	}

	if errno := k.checkGateway(r); errno != 0 {
		return errno
	}

	if r.LinkIndex == 0 {
		return unix.ENODEV
	}

	if r.Source.IsValid() && !k.own(r.Source) {
		return unix.EINVAL
	}

	return 0
}

func (k *Kernel) own(a netip.Addr) bool {
	return slices.ContainsFunc(k.addresses, func(o netlink.Address) bool { return o.Prefix.Addr() == a })
}

// checkGateway checks that the gateway is on the link: in the network of an address, or behind a route without a gateway.
func (k *Kernel) checkGateway(r *netlink.Route) unix.Errno {
	gateway := r.Gateway

	switch {
	case !gateway.IsValid():
		return 0
	case gateway.Is6() && gateway.IsLinkLocalUnicast():
		if r.LinkIndex == 0 {
			return unix.EINVAL
		}

		return 0
	case gateway.Is6() && k.own(gateway):
		return unix.EINVAL
	case r.Flags&unix.RTNH_F_ONLINK != 0:
		return 0
	}

	for _, o := range k.routes {
		if !o.Gateway.IsValid() && o.Destination.IsValid() && o.Destination.Contains(gateway) && (r.LinkIndex == 0 || o.LinkIndex == r.LinkIndex) {
			r.LinkIndex = o.LinkIndex

			return 0
		}
	}

	if gateway.Is6() {
		return unix.EHOSTUNREACH
	}

	return unix.ENETUNREACH
}

// DeleteRoute implements netlink.Kernel.
func (k *Kernel) DeleteRoute(r netlink.Route) error {
	return k.change("DeleteRoute", r, func() error {
		k.routes = slices.DeleteFunc(k.routes, func(o netlink.Route) bool { return o.Key() == r.Key() && o.SameWay(r) })
		k.notify(netlink.WatchRoutes)

		return nil
	})
}
