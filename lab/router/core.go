// SPDX-License-Identifier: Apache-2.0

package router

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/lab/nat"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

const etherLen = header.EthernetMinimumSize

// Frame is an Ethernet frame for one of the router's legs.
type Frame struct {
	Leg  int // index in Config.Legs
	Data []byte
}

// Core is a router without a clock and a network: it gets frames and times, and returns frames. It is not safe for
// concurrent use.
type Core struct {
	legs   []*leg
	own    map[netip.Addr]*leg // all addresses except the link-local ones
	routes []route             // the longest prefix first

	now   time.Time
	out   []Frame
	arena []byte    // memory of the frames in out
	id    uint16    // of the router's own IPv4 packets
	due   time.Time // of Tick, if waits
	waits bool
	// forwarded and dropped count packets, dropped by reason.
	forwarded uint64
	dropped   map[string]uint64
}

// leg is a leg with its neighbors.
type leg struct {
	Leg
	index     int
	table     *nat.Table // nil without NAT
	neighbors map[netip.Addr]*neighbor
	waiting   int        // bytes of frames in the queues of neighbors
	linkLocal netip.Addr // not valid without IPv6
}

// route is a route to a prefix, through a gateway or, without one, directly.
type route struct {
	to      netip.Prefix
	gateway netip.Addr
	leg     *leg
}

// packet is an IP packet in the router.
type packet struct {
	in *leg // nil if the router itself sends it
	// frame has room for an Ethernet header before the IP packet.
	frame []byte
	// sent is the packet as it was received, for an ICMP error about it.
	sent []byte
}

func (p *packet) ip() []byte { return p.frame[etherLen:] }

// NewCore returns a router with no neighbors.
func NewCore(cfg Config) (*Core, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("router: %w", err)
	}

	c := &Core{own: map[netip.Addr]*leg{}, dropped: map[string]uint64{}}

	for i, l := range cfg.Legs {
		leg := &leg{Leg: l, index: i, neighbors: map[netip.Addr]*neighbor{}}
		leg.MTU = cmp.Or(l.MTU, DefaultMTU)
		c.legs = append(c.legs, leg)

		for _, a := range l.Addresses {
			c.own[a.Addr()] = leg
			c.routes = append(c.routes, route{to: a.Masked(), leg: leg})

			if a.Addr().Is6() {
				leg.linkLocal = linkLocal(l.MAC)
			}
		}

		var err error
		if leg.table, err = leg.newTable(); err != nil {
			return nil, fmt.Errorf("leg %q: NAT: %w", l.Name, err)
		}
	}

	for _, r := range cfg.Routes {
		i, err := cfg.routeLeg(r)
		if err != nil {
			return nil, fmt.Errorf("route to %v: %w", r.Destination, err)
		}

		c.routes = append(c.routes, route{r.Destination.Masked(), r.Gateway, c.legs[i]})
	}

	slices.SortStableFunc(c.routes, func(a, b route) int { return cmp.Compare(b.to.Bits(), a.to.Bits()) })

	return c, nil
}

// linkLocal returns the address that follows from a hardware address.
func linkLocal(mac HardwareAddr) netip.Addr {
	return netip.AddrFrom16(header.LinkLocalAddr(tcpip.LinkAddress(mac[:])).As16())
}

// Receive handles a frame that a leg received, and returns the frames to send. The frame is not changed. The result is
// valid until the next call. Times must not go backwards.
func (c *Core) Receive(index int, frame []byte, now time.Time) []Frame {
	c.begin(now)

	l := c.legs[index]
	if len(frame) < etherLen {
		return nil
	}

	if to := HardwareAddr(frame); to != l.MAC && !to.group() {
		return nil
	}

	switch payload := frame[etherLen:]; binary.BigEndian.Uint16(frame[12:]) {
	case uint16(header.ARPProtocolNumber):
		c.receiveARP(l, payload)
	case uint16(header.IPv4ProtocolNumber):
		c.receive4(l, payload, HardwareAddr(frame).group())
	case uint16(header.IPv6ProtocolNumber):
		c.receive6(l, payload, HardwareAddr(frame))
	}

	return c.out
}

// Tick does what is due: it probes neighbors again, and gives up on others.
func (c *Core) Tick(now time.Time) []Frame {
	c.begin(now)

	for _, l := range c.legs {
		c.tickNeighbors(l)
	}

	c.waits = false

	for _, l := range c.legs {
		for _, n := range l.neighbors {
			if n.asking() {
				c.wake(n.next)
			}
		}
	}

	return c.out
}

// Next returns when Tick is due, and false if nothing is pending.
func (c *Core) Next() (time.Time, bool) { return c.due, c.waits }

// wake makes Tick due at a time, or earlier.
func (c *Core) wake(at time.Time) {
	if !c.waits || at.Before(c.due) {
		c.due, c.waits = at, true
	}
}

func (c *Core) begin(now time.Time) {
	clear(c.out)
	c.now, c.out, c.arena = now, c.out[:0], c.arena[:0]
}

// frame returns room for a frame with n bytes after the Ethernet header.
func (c *Core) frame(n int) []byte {
	size := etherLen + n
	if cap(c.arena)-len(c.arena) < size {
		c.arena = make([]byte, 0, max(size, 64<<10)) // earlier frames keep their memory
	}

	start := len(c.arena)
	c.arena = c.arena[:start+size]

	return c.arena[start : start+size : start+size]
}

// emit writes a frame's Ethernet header and sends it.
func (c *Core) emit(l *leg, frame []byte, to HardwareAddr, kind uint16) {
	copy(frame, to[:])
	copy(frame[6:], l.MAC[:])
	binary.BigEndian.PutUint16(frame[12:], kind)
	c.out = append(c.out, Frame{l.index, frame})
}

// route returns the route to an address.
func (c *Core) route(to netip.Addr) (route, bool) {
	for _, r := range c.routes {
		if r.to.Contains(to) {
			return r, true
		}
	}

	return route{}, false
}

func (c *Core) drop(reason string) { c.dropped[reason]++ }
