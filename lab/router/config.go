// SPDX-License-Identifier: Apache-2.0

package router

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/seed-59268b81/talos/lab/nat"
)

// The bounds of a leg's MTU: the packets that IPv4 and IPv6 hosts must be able to receive, and the longest that fits a
// frame of the lab's switch.
const (
	MinMTU     = 576
	MinMTU6    = 1280
	MaxMTU     = 65535
	DefaultMTU = 1500
)

// Config describes a router.
type Config struct {
	Legs []Leg
	// Routes beyond the subnets of the legs. The longest prefix wins.
	Routes []Route
}

// Leg is one of the router's network cards.
type Leg struct {
	// Name of the leg, for routes and messages.
	Name string
	// MAC of the card.
	MAC HardwareAddr
	// Addresses with their subnets, IPv4 and IPv6. A leg with an IPv6 address also has the link-local one that follows
	// from its MAC.
	Addresses []netip.Prefix
	// MTU is DefaultMTU if zero.
	MTU int

	Setting
}

// Setting is the part of a leg that can change while the router runs.
type Setting struct {
	// NAT translates IPv4 packets that leave the router through the leg. Its External is the first IPv4 address of the
	// leg if it is not set. Packets that come in through the leg for other addresses than External are dropped.
	NAT *nat.Config `json:"nat,omitempty"`
	// BlockUDP drops UDP, IPv4 and IPv6, that would cross the router through the leg.
	BlockUDP bool `json:"blockUDP,omitempty"`
	// SilentTooBig drops packets too big for the leg without an ICMP error to their sender: a black hole for path MTU
	// discovery.
	SilentTooBig bool `json:"silentTooBig,omitempty"`
}

// Route is a static route.
type Route struct {
	Destination netip.Prefix `json:"destination"`
	// Gateway is a neighbor on the leg.
	Gateway netip.Addr `json:"gateway"`
	// Leg is the name of the leg, by default the one whose subnet has the gateway.
	Leg string `json:"leg,omitempty"`
}

// HardwareAddr is an Ethernet address.
type HardwareAddr [6]byte

// String returns the form 52:54:00:00:00:01.
func (a HardwareAddr) String() string { return net.HardwareAddr(a[:]).String() }

// group reports whether a is a multicast or broadcast address.
func (a HardwareAddr) group() bool { return a[0]&1 != 0 }

// Validate returns an error for a wrong configuration.
func (c Config) Validate() error {
	var errs []error

	if len(c.Legs) < 2 {
		errs = append(errs, fmt.Errorf("a router needs at least two legs, and has %d", len(c.Legs)))
	}

	names := map[string]bool{}

	for i := range c.Legs {
		leg := &c.Legs[i]
		if err := leg.validate(); err != nil {
			errs = append(errs, fmt.Errorf("leg %q: %w", leg.Name, err))
		}

		if leg.Name == "" || names[leg.Name] {
			errs = append(errs, fmt.Errorf("leg %q: want a name that no other leg has", leg.Name))
		}

		names[leg.Name] = true
	}

	for _, r := range c.Routes {
		if _, err := c.routeLeg(r); err != nil {
			errs = append(errs, fmt.Errorf("route to %v: %w", r.Destination, err))
		}
	}

	return errors.Join(errs...)
}

func (l *Leg) validate() error {
	var errs []error

	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	has6 := false

	for _, a := range l.Addresses {
		if !a.IsValid() || a.Addr().IsMulticast() || a.Addr().IsUnspecified() || a.Addr().IsLoopback() || a.Addr().Is4In6() {
			wrong("address %v: not the address of a network card", a)
		}

		has6 = has6 || a.Addr().Is6()
	}

	if len(l.Addresses) == 0 {
		wrong("no addresses")
	}

	if l.MAC == (HardwareAddr{}) || l.MAC.group() {
		wrong("hardware address %v: not that of a network card", l.MAC)
	}

	least := MinMTU
	if has6 {
		least = MinMTU6
	}

	if mtu := cmp.Or(l.MTU, DefaultMTU); mtu < least || mtu > MaxMTU {
		wrong("MTU %d: want %d to %d", mtu, least, MaxMTU)
	}

	if l.NAT != nil {
		if err := l.NAT.Validate(); err != nil {
			wrong("NAT: %w", err)
		}

		if external := l.external(); !external.IsValid() || !l.owns(external) {
			wrong("NAT: the external address %v is not one of the leg's addresses %v", external, l.Addresses)
		}
	}

	return errors.Join(errs...)
}

// external returns the external address of the leg's NAT.
func (l *Leg) external() netip.Addr {
	if l.NAT.External.IsValid() {
		return l.NAT.External
	}

	for _, a := range l.Addresses {
		if a.Addr().Is4() {
			return a.Addr()
		}
	}

	return netip.Addr{}
}

func (l *Leg) owns(a netip.Addr) bool {
	for _, own := range l.Addresses {
		if own.Addr() == a {
			return true
		}
	}

	return false
}

// routeLeg returns the index of a static route's leg.
func (c Config) routeLeg(r Route) (int, error) {
	if !r.Destination.IsValid() || r.Destination.Addr().Is4() != r.Gateway.Is4() || !r.Gateway.IsValid() {
		return 0, fmt.Errorf("the destination and the gateway %v are not both IPv4 or both IPv6", r.Gateway)
	}

	for i := range c.Legs {
		if r.Leg == c.Legs[i].Name && r.Leg != "" {
			return i, nil
		}

		for _, a := range c.Legs[i].Addresses {
			if r.Leg == "" && a.Contains(r.Gateway) {
				return i, nil
			}
		}
	}

	if r.Leg != "" {
		return 0, fmt.Errorf("there is no leg %q", r.Leg)
	}

	return 0, fmt.Errorf("gateway %v is not in a leg's subnet", r.Gateway)
}
