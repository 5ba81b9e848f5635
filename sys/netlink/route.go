// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"fmt"
	"net/netip"

	"github.com/jsimonetti/rtnetlink/v2"
	"golang.org/x/sys/unix"
)

// Routes implements Kernel.
func (c *Conn) Routes() ([]Route, error) {
	return list(c, "routes", &rtnetlink.RouteMessage{}, unix.RTM_GETROUTE, decodeRoute)
}

func decodeRoute(data []byte) (Route, bool, error) {
	var m rtnetlink.RouteMessage
	if err := m.UnmarshalBinary(data); err != nil {
		return Route{}, false, err
	}

	at := m.Attributes
	r := Route{
		Family: m.Family, Source: fromIP(at.Src), Gateway: fromIP(at.Gateway), LinkIndex: at.OutIface, Table: at.Table,
		Priority: at.Priority, Scope: m.Scope, Type: m.Type, Flags: m.Flags, Protocol: m.Protocol,
	}

	if dst := fromIP(at.Dst); dst.IsValid() {
		r.Destination = netip.PrefixFrom(dst, int(m.DstLength))
	}

	if r.Table == 0 {
		r.Table = uint32(m.Table)
	}

	if at.Metrics != nil {
		r.MTU = at.Metrics.MTU
	}

	for _, hop := range at.Multipath {
		r.NextHops = append(r.NextHops, NextHop{Gateway: fromIP(hop.Gateway), LinkIndex: hop.Hop.IfIndex, Weight: uint32(hop.Hop.Hops) + 1})
		r.Flags |= uint32(hop.Hop.Flags) & unix.RTNH_F_ONLINK
	}

	internet := m.Family == unix.AF_INET || m.Family == unix.AF_INET6

	return r, internet && m.Flags&unix.RTM_F_CLONED == 0, nil
}

// ReplaceRoute implements Kernel.
func (c *Conn) ReplaceRoute(r Route) error {
	if err := c.rt.Route.Replace(r.message()); err != nil {
		return fmt.Errorf("set route %s: %w", r, err)
	}

	return nil
}

// DeleteRoute implements Kernel.
func (c *Conn) DeleteRoute(r Route) error {
	if err := ignoreMissing(c.rt.Route.Delete(r.message())); err != nil {
		return fmt.Errorf("delete route %s: %w", r, err)
	}

	return nil
}

func (r Route) message() *rtnetlink.RouteMessage {
	m := &rtnetlink.RouteMessage{
		Family: r.Family, Table: uint8(r.Table), Protocol: r.Protocol, Scope: r.Scope, Type: r.Type, Flags: r.Flags,
		Attributes: rtnetlink.RouteAttributes{
			Src: toIP(r.Source), Gateway: toIP(r.Gateway), OutIface: r.LinkIndex, Priority: r.Priority, Table: r.Table,
		},
	}

	if r.Table > 255 {
		m.Table = unix.RT_TABLE_COMPAT
	}

	if r.Destination.IsValid() {
		m.Attributes.Dst, m.DstLength = toIP(r.Destination.Addr()), uint8(r.Destination.Bits())
	}

	for _, hop := range r.NextHops {
		m.Attributes.Multipath = append(m.Attributes.Multipath, rtnetlink.NextHop{
			Gateway: toIP(hop.Gateway), Hop: rtnetlink.RTNextHop{
				IfIndex: hop.LinkIndex, Hops: uint8(min(max(hop.Weight, 1), 256) - 1), Flags: uint8(r.Flags & unix.RTNH_F_ONLINK),
			},
		})
	}

	if r.MTU > 0 {
		m.Attributes.Metrics = &rtnetlink.RouteMetrics{MTU: r.MTU}
	}

	return m
}

// String prints the route as iproute2 does, with numbers for links.
func (r Route) String() string {
	s := "default"
	if r.Destination.IsValid() {
		s = r.Destination.String()
	}

	if r.Gateway.IsValid() {
		s += " via " + r.Gateway.String()
	}

	if len(r.NextHops) == 0 {
		s += fmt.Sprintf(" dev %d", r.LinkIndex)
	}

	s += fmt.Sprintf(" metric %d table %d", r.Priority, r.Table)

	if r.Flags&unix.RTNH_F_ONLINK != 0 {
		s += " onlink"
	}

	for _, hop := range r.NextHops {
		s += " nexthop"
		if hop.Gateway.IsValid() {
			s += " via " + hop.Gateway.String()
		}

		s += fmt.Sprintf(" dev %d weight %d", hop.LinkIndex, hop.Weight)
	}

	return s
}

// SameFlags reports whether both routes have the same of those flags that are set with a route. The kernel adds others, such as that the
// link has no carrier.
func (r Route) SameFlags(o Route) bool { return (r.Flags^o.Flags)&unix.RTNH_F_ONLINK == 0 }

// Key is what the kernel knows a route by: a route that is set takes the place of another with the same key. (IPv6
// can have several routes of a key, which only those make that append: the kernel itself and routers.)
type Key struct {
	Family      uint8
	Table       uint32
	Destination netip.Prefix
	Priority    uint32
}

// Key returns the key of the route.
func (r Route) Key() Key { return Key{r.Family, r.Table, r.Destination, r.Priority} }

// SameWay reports whether both routes go by the same gateway and link; a link of 0 is any.
func (r Route) SameWay(o Route) bool {
	return r.Gateway == o.Gateway && (r.LinkIndex == o.LinkIndex || r.LinkIndex == 0 || o.LinkIndex == 0)
}
