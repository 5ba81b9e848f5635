// SPDX-License-Identifier: Apache-2.0

package world

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/lab/gateway"
)

// MaxCards bounds the network cards of a machine.
const MaxCards = 8

// names matches a part of a host name.
var names = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// errorList collects the errors of a description.
type errorList []error

func (c *errorList) add(format string, args ...any) { *c = append(*c, fmt.Errorf(format, args...)) }

// validate returns the mistakes in a world before addresses are assigned.
func (w *World) validate(machines []Machine) error {
	var errs errorList

	if len(w.Networks) == 0 {
		errs.add("the lab has no network")
	}

	seen := map[string]string{gateway.PortName: "the gateways"}
	unique := func(what, name string) {
		if other, ok := seen[name]; ok {
			errs.add("%s %q: %s has that name; networks, routers and machines need different ones", what, name, other)
		}

		seen[name] = what + " " + name
	}

	for i := range w.Networks {
		unique("network", w.Networks[i].Name)
		w.validateNetwork(&w.Networks[i], &errs)
	}

	for i := range w.Routers {
		unique("router", w.Routers[i].Name)
		w.validateRouter(&w.Routers[i], &errs)
	}

	for _, m := range machines {
		unique("machine", m.Name)
		w.validateCards(m, &errs)
	}

	for i := range w.Networks {
		w.validateAddresses(&w.Networks[i], machines, &errs)
	}

	return errors.Join(errs...)
}

func (w *World) validateNetwork(n *Network, errs *errorList) {
	if !names.MatchString(n.Name) {
		errs.add("network name %q: want up to 32 lower-case letters, digits and dashes", n.Name)
	}

	if !n.Subnet4.IsValid() && !n.Subnet6.IsValid() {
		errs.add("network %s: it has no subnet: set Subnet4, Subnet6 or both", n.Name)
	}

	if n.Subnet4.IsValid() && !n.Subnet4.Addr().Is4() {
		errs.add("network %s: subnet %v: want IPv4", n.Name, n.Subnet4)
	}

	if n.Subnet6.IsValid() && (!n.Subnet6.Addr().Is6() || n.Subnet6.Bits() > 112) {
		errs.add("network %s: subnet %v: want IPv6, of /112 or shorter (/64 for hosts that give themselves addresses)", n.Name, n.Subnet6)
	}

	least := uint16(576)
	if n.Subnet6.IsValid() {
		least = 1280
	}

	if n.MTU < least {
		errs.add("network %s: MTU %d: want at least %d", n.Name, n.MTU, least)
	}

	if n.Router != "" {
		if r, ok := w.Router(n.Router); !ok {
			errs.add("network %s: there is no router %q: %s", n.Name, n.Router, known("router", w.RouterNames()))
		} else if _, ok := r.Leg(n.Name); !ok {
			errs.add("network %s: router %s has no leg on it", n.Name, n.Router)
		}
	}

	for _, s := range n.Services.Only {
		if !slices.Contains(services, s) {
			errs.add("network %s: unknown service %q: want %v", n.Name, s, services)
		}
	}

	if err := n.Accepts(n.Services); err != nil {
		errs.add("network %s: %w", n.Name, err)
	}
}

// Accepts returns an error for a behaviour that is not possible, or that is one of a service that does not run on the
// network.
func (n *Network) Accepts(s Services) error {
	if err := s.Validate(); err != nil {
		return err
	}

	for _, set := range []struct {
		service   gateway.Service
		behaviour any
	}{
		{gateway.ServiceDHCP, s.DHCP}, {gateway.ServiceDHCPv6, s.DHCPv6}, {gateway.ServiceRA, s.RA},
		{gateway.ServiceDNS, s.DNS}, {gateway.ServiceNTP, s.NTP}, {gateway.ServiceMetadata, s.Metadata},
	} {
		if !reflect.ValueOf(set.behaviour).IsZero() && !n.runs(set.service) {
			return fmt.Errorf("the service %s does not run there, so it cannot have a behaviour", set.service)
		}
	}

	if s.SecondDHCP != nil && !n.Subnet4.IsValid() {
		return errors.New("a second DHCP server needs an IPv4 subnet")
	}

	return nil
}

// runs reports whether a service runs on the network.
func (n *Network) runs(s gateway.Service) bool {
	switch {
	case len(n.Services.Only) > 0:
		return slices.Contains(n.Services.Only, s)
	case s == gateway.ServiceDHCP:
		return n.Subnet4.IsValid()
	case s == gateway.ServiceDHCPv6 || s == gateway.ServiceRA:
		return n.Subnet6.IsValid()
	case s == gateway.ServiceMetadata:
		return n.Services.Cloud != ""
	}

	return true
}

var services = []gateway.Service{
	gateway.ServiceDHCP, gateway.ServiceDHCPv6, gateway.ServiceRA, gateway.ServiceDNS, gateway.ServiceNTP, gateway.ServiceMetadata,
}

func (w *World) validateRouter(r *Router, errs *errorList) {
	if !names.MatchString(r.Name) {
		errs.add("router name %q: want up to 32 lower-case letters, digits and dashes", r.Name)
	}

	for i, leg := range r.Legs {
		n, ok := w.Network(leg.Network)
		if !ok {
			errs.add("router %s: leg %d: there is no network %q: %s", r.Name, i, leg.Network, known("network", w.NetworkNames()))

			continue
		}

		for _, other := range r.Legs[:i] {
			o, ok := w.Network(other.Network)

			switch {
			case other.Network == leg.Network:
				errs.add("router %s has two legs on network %s", r.Name, leg.Network)
			case ok && (n.Subnet4.Overlaps(o.Subnet4) || n.Subnet6.Overlaps(o.Subnet6)):
				errs.add("router %s connects networks %s and %s, whose subnets overlap", r.Name, o.Name, n.Name)
			}
		}
	}
}

func (w *World) validateCards(m Machine, errs *errorList) {
	if len(m.Cards) == 0 || len(m.Cards) > MaxCards {
		errs.add("machine %s has %d network cards: want 1 to %d", m.Name, len(m.Cards), MaxCards)
	}

	for i, c := range m.Cards {
		n, ok := w.Network(c.Network)
		if !ok {
			errs.add("machine %s: card %d: there is no network %q: %s", m.Name, i, c.Network, known("network", w.NetworkNames()))
		}

		for _, other := range m.Cards[:i] {
			o, okToo := w.Network(other.Network)
			if ok && okToo && o != n && (n.Subnet4.Overlaps(o.Subnet4) || n.Subnet6.Overlaps(o.Subnet6)) {
				errs.add("machine %s has cards on networks %s and %s, whose subnets overlap", m.Name, o.Name, n.Name)
			}
		}

		if mac, err := net.ParseMAC(c.MAC); c.MAC != "" && (err != nil || len(mac) != 6 || mac[0]&1 != 0) {
			errs.add("machine %s: card %d: hardware address %q: want one such as 52:54:00:12:34:56", m.Name, i, c.MAC)
		}
	}
}

// validateAddresses returns an error for addresses that are not in their subnets, or that are used twice.
func (w *World) validateAddresses(n *Network, machines []Machine, errs *errorList) {
	taken := owners{addrs: map[netip.Addr]string{}, macs: map[string]string{gateway.DefaultMAC.String(): "the gateway"}, errs: errs}

	taken.own(n, "gateway of network "+n.Name, n.Gateway4, n.Gateway6)

	for _, r := range w.Routers {
		for _, leg := range r.Legs {
			if leg.Network == n.Name {
				taken.own(n, "router "+r.Name, leg.Addr4, leg.Addr6)
				taken.macs[w.LegMAC(r.Name, n.Name).String()] = "router " + r.Name
			}
		}
	}

	for _, m := range machines {
		for i, c := range m.Cards {
			if c.Network != n.Name {
				continue
			}

			owner := fmt.Sprintf("machine %s, card %d", m.Name, i)
			taken.own(n, owner, c.Addr4, c.Addr6)

			mac := c.HardwareAddr().String()
			if other := taken.macs[mac]; mac != "" && other != "" {
				errs.add("%s: hardware address %s is taken by %s", owner, mac, other)
			}

			taken.macs[mac] = owner
		}
	}
}

// owners are the owners of the addresses on a network.
type owners struct {
	addrs map[netip.Addr]string
	macs  map[string]string
	errs  *errorList
}

func (o *owners) own(n *Network, owner string, addr4, addr6 netip.Addr) {
	for _, at := range []struct {
		addr   netip.Addr
		subnet netip.Prefix
		kind   string
	}{{addr4, n.Subnet4, "IPv4"}, {addr6, n.Subnet6, "IPv6"}} {
		switch {
		case !at.addr.IsValid():
			continue
		case at.addr.Is4() != (at.kind == "IPv4") || at.addr.Is4In6():
			o.errs.add("%s: address %v: want %s", owner, at.addr, at.kind)
		case !at.subnet.Contains(at.addr):
			o.errs.add("%s: address %v is not in network %s", owner, at.addr, n.Name)
		case at.addr.Is4() && at.subnet.Bits() < 31 && (at.addr == at.subnet.Addr() || at.addr == broadcast(at.subnet)):
			o.errs.add("%s: address %v is the network or the broadcast address of subnet %v", owner, at.addr, at.subnet)
		case o.addrs[at.addr] != "":
			o.errs.add("%s: address %v is taken by %s", owner, at.addr, o.addrs[at.addr])
		}

		o.addrs[at.addr] = owner
	}
}

// validateRouters returns the errors of package router.
func (w *World) validateRouters() error {
	var errs errorList

	for i := range w.Routers {
		if err := w.RouterConfig(&w.Routers[i]).Validate(); err != nil {
			errs.add("router %s: %w", w.Routers[i].Name, err)
		}
	}

	return errors.Join(errs...)
}

// NetworkNames returns the names of all networks.
func (w *World) NetworkNames() []string {
	return collect(w.Networks, func(n Network) string { return n.Name })
}

// RouterNames returns the names of all routers.
func (w *World) RouterNames() []string {
	return collect(w.Routers, func(r Router) string { return r.Name })
}

// collect calls a function for each element, and returns the results.
func collect[T, V any](all []T, of func(T) V) []V {
	var list []V
	for _, one := range all {
		list = append(list, of(one))
	}

	return list
}

// known returns a text with the existing names.
func known(what string, all []string) string {
	if len(all) == 0 {
		return "there is no " + what
	}

	return "there is " + strings.Join(all, ", ")
}
