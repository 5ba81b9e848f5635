// SPDX-License-Identifier: Apache-2.0

package nat

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Behavior is how much of the remote endpoint a mapping or a filter depends on.
type Behavior string

// The behaviors of RFC 4787, sections 4.1 and 5.
const (
	EndpointIndependent     Behavior = "endpoint-independent"
	AddressDependent        Behavior = "address-dependent"
	AddressAndPortDependent Behavior = "address-and-port-dependent"
)

// Behaviors are all behaviors.
var Behaviors = []Behavior{EndpointIndependent, AddressDependent, AddressAndPortDependent}

// Allocation is how a new mapping gets its port.
type Allocation string

// The allocations.
const (
	// Preserve uses the internal port if it is free, else the next free one.
	Preserve Allocation = "preserve"
	// Sequential uses the next free port after the last one.
	Sequential Allocation = "sequential"
	// Random uses any free port.
	Random Allocation = "random"
)

// Hairpin is how packets from inside for a mapping of the external address are treated.
type Hairpin string

// The kinds of hairpinning (RFC 4787, section 6).
const (
	// HairpinOff drops them. It is the default.
	HairpinOff Hairpin = ""
	// HairpinExternal delivers them from the sender's external endpoint, as RFC 4787, REQ-9, requires.
	HairpinExternal Hairpin = "external"
	// HairpinInternal delivers them from the sender's internal endpoint.
	HairpinInternal Hairpin = "internal"
)

// The default timeouts: those that RFC 4787 REQ-5, RFC 5382 REQ-5 and RFC 5508 REQ-1 recommend or require at least.
const (
	DefaultUDPTimeout            = 5 * time.Minute
	DefaultTCPEstablishedTimeout = 2*time.Hour + 4*time.Minute
	DefaultTCPTransitoryTimeout  = 4 * time.Minute
	DefaultICMPTimeout           = time.Minute
)

// DefaultSessions bounds the remote endpoints that a table keeps at once.
const DefaultSessions = 1 << 16

// Protocol of a forward.
type Protocol string

// The protocols that can be forwarded.
const (
	TCP Protocol = "tcp"
	UDP Protocol = "udp"
)

// Forward is a configured mapping: it does not expire, and has no filter.
type Forward struct {
	Protocol Protocol `json:"protocol"`
	// Port of the external address.
	Port uint16 `json:"port"`
	// To is the internal endpoint. It has at most one forward, so that its answers come from a known port.
	To netip.AddrPort `json:"to"`
}

// Config describes a NAT. The zero value of each field but External is a default.
type Config struct {
	// External is the one external address, IPv4.
	External netip.Addr `json:"external,omitzero"`
	// Mapping behavior, EndpointIndependent by default.
	Mapping Behavior `json:"mapping,omitempty"`
	// Filtering behavior, AddressAndPortDependent by default.
	Filtering Behavior `json:"filtering,omitempty"`
	// Allocation of ports, Preserve by default.
	Allocation Allocation `json:"allocation,omitempty"`
	// FirstPort and LastPort bound the ports of mappings, 1024 and 65535 by default.
	FirstPort uint16 `json:"firstPort,omitempty"`
	LastPort  uint16 `json:"lastPort,omitempty"`
	// Hairpin is off by default.
	Hairpin Hairpin `json:"hairpin,omitempty"`
	// Timeouts of idle sessions; zero is the default of each.
	UDPTimeout            time.Duration `json:"udpTimeout,omitempty"`
	TCPEstablishedTimeout time.Duration `json:"tcpEstablishedTimeout,omitempty"`
	TCPTransitoryTimeout  time.Duration `json:"tcpTransitoryTimeout,omitempty"`
	ICMPTimeout           time.Duration `json:"icmpTimeout,omitempty"`
	// RefreshInbound makes UDP packets from outside refresh a mapping.
	RefreshInbound bool `json:"refreshInbound,omitempty"`
	// Sessions bounds the remote endpoints kept at once, DefaultSessions by default.
	Sessions int       `json:"sessions,omitempty"`
	Forwards []Forward `json:"forwards,omitempty"`
	// Seed makes random ports repeatable.
	Seed uint64 `json:"seed,omitempty"`
}

// Kind is the common name of a combination of behaviors.
type Kind string

// The classic kinds (RFC 3489, section 5).
const (
	FullCone       Kind = "full-cone"
	Restricted     Kind = "restricted"
	PortRestricted Kind = "port-restricted"
	Symmetric      Kind = "symmetric"
)

// Kinds are all kinds.
var Kinds = []Kind{FullCone, Restricted, PortRestricted, Symmetric}

// Behaviors returns the mapping and the filtering behavior of a kind, and whether the kind exists.
func (k Kind) Behaviors() (mapping, filtering Behavior, ok bool) {
	switch k {
	case FullCone:
		return EndpointIndependent, EndpointIndependent, true
	case Restricted:
		return EndpointIndependent, AddressDependent, true
	case PortRestricted:
		return EndpointIndependent, AddressAndPortDependent, true
	case Symmetric:
		return AddressAndPortDependent, AddressAndPortDependent, true
	}

	return "", "", false
}

func (c *Config) setDefaults() {
	c.Mapping = cmp.Or(c.Mapping, EndpointIndependent)
	c.Filtering = cmp.Or(c.Filtering, AddressAndPortDependent)
	c.Allocation = cmp.Or(c.Allocation, Preserve)
	c.FirstPort = cmp.Or(c.FirstPort, 1024)
	c.LastPort = cmp.Or(c.LastPort, 65535)
	c.UDPTimeout = cmp.Or(c.UDPTimeout, DefaultUDPTimeout)
	c.TCPEstablishedTimeout = cmp.Or(c.TCPEstablishedTimeout, DefaultTCPEstablishedTimeout)
	c.TCPTransitoryTimeout = cmp.Or(c.TCPTransitoryTimeout, DefaultTCPTransitoryTimeout)
	c.ICMPTimeout = cmp.Or(c.ICMPTimeout, DefaultICMPTimeout)
	c.Sessions = cmp.Or(c.Sessions, DefaultSessions)
}

// Validate returns an error for a wrong configuration. It accepts a missing External, for a router that uses the
// address of its leg; New does not.
func (c Config) Validate() error {
	c.setDefaults()

	var errs []error

	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if c.External.IsValid() && !c.External.Is4() {
		wrong("external address %v: want IPv4", c.External)
	}

	if !slices.Contains(Behaviors, c.Mapping) {
		wrong("mapping %q: want one of %q", c.Mapping, Behaviors)
	}

	if !slices.Contains(Behaviors, c.Filtering) {
		wrong("filtering %q: want one of %q", c.Filtering, Behaviors)
	}

	if !slices.Contains([]Allocation{Preserve, Sequential, Random}, c.Allocation) {
		wrong("allocation %q: want %s, %s or %s", c.Allocation, Preserve, Sequential, Random)
	}

	if !slices.Contains([]Hairpin{HairpinOff, HairpinExternal, HairpinInternal}, c.Hairpin) {
		wrong("hairpin %q: want %s or %s, or nothing", c.Hairpin, HairpinExternal, HairpinInternal)
	}

	if c.FirstPort > c.LastPort {
		wrong("ports %d to %d: the first is after the last", c.FirstPort, c.LastPort)
	}

	if min(c.UDPTimeout, c.TCPEstablishedTimeout, c.TCPTransitoryTimeout, c.ICMPTimeout) < 0 {
		wrong("timeouts %v, %v, %v, %v: must not be negative", c.UDPTimeout, c.TCPEstablishedTimeout, c.TCPTransitoryTimeout, c.ICMPTimeout)
	}

	if c.Sessions < 0 {
		wrong("sessions %d: must not be negative", c.Sessions)
	}

	return errors.Join(append(errs, c.validateForwards()...)...)
}

func (c Config) validateForwards() []error {
	var errs []error

	type end struct {
		Protocol
		netip.AddrPort
	}

	seen := map[end]bool{}

	for _, f := range c.Forwards {
		wrong := func(why string) {
			errs = append(errs, fmt.Errorf("forward of %s port %d to %v: %s", f.Protocol, f.Port, f.To, why))
		}

		from, to := end{f.Protocol, netip.AddrPortFrom(netip.IPv4Unspecified(), f.Port)}, end{f.Protocol, f.To}

		switch {
		case !slices.Contains([]Protocol{TCP, UDP}, f.Protocol):
			wrong("the protocol is neither tcp nor udp")
		case f.Port == 0 || f.To.Port() == 0:
			wrong("a port is missing")
		case !f.To.Addr().Is4():
			wrong("want an IPv4 address")
		case seen[from]:
			wrong("the port has two forwards")
		case seen[to]:
			wrong("the internal endpoint has two forwards")
		}

		seen[from], seen[to] = true, true
	}

	return errs
}
