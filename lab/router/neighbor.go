// SPDX-License-Identifier: Apache-2.0

package router

import (
	"bytes"
	"maps"
	"net/netip"
	"slices"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

const (
	// probeEvery is the interval, and probes the number, of probes for a neighbor.
	probeEvery = 500 * time.Millisecond
	probes     = 6
	// freshFor is how long a neighbor's hardware address is valid. When it is used after that, the neighbor is probed
	// again, while packets still use it.
	freshFor = 30 * time.Second
	// neighborLimit bounds the neighbors of a leg, queueLimit the packets that wait for one of them. waitingBytes
	// bounds the memory of all waiting packets of a leg.
	neighborLimit = 1024
	queueLimit    = 16
	waitingBytes  = 4 << 20
	// sentLimit is how much of a packet an ICMP error of IPv4 quotes (RFC 1812, section 4.3.2.3), and sentLimit6 one of
	// IPv6 (RFC 4443, section 2.4).
	sentLimit  = 576 - header.IPv4MinimumSize - header.ICMPv4MinimumSize
	sentLimit6 = header.IPv6MinimumMTU - header.IPv6MinimumSize - header.ICMPv6MinimumSize
)

// neighbor is a host on a leg's network.
type neighbor struct {
	addr    netip.Addr
	mac     HardwareAddr // zero while unknown
	learned time.Time
	asked   int       // unanswered probes
	next    time.Time // when to probe again, or to give up
	queue   []packet
}

func (n *neighbor) known() bool { return n.mac != HardwareAddr{} }

func (n *neighbor) asking() bool { return n.asked > 0 }

// send sends a packet to a neighbor, or queues it until the neighbor is found.
func (c *Core) send(l *leg, to netip.Addr, p *packet) {
	n := l.neighbors[to]
	if n == nil {
		if len(l.neighbors) >= neighborLimit && !c.evict(l) {
			c.drop("too many neighbors")

			return
		}

		n = &neighbor{addr: to}
		l.neighbors[to] = n
	}

	if !n.asking() && c.now.Sub(n.learned) >= freshFor {
		c.ask(l, n)
	}

	switch {
	case n.known():
		c.emit(l, p.frame, n.mac, etherType(to))
	case len(n.queue) >= queueLimit || l.waiting+len(p.frame) > waitingBytes:
		c.drop("neighbor queue full")
	default:
		keep := packet{in: p.in, frame: bytes.Clone(p.frame)}
		keep.sent = bytes.Clone(p.sent[:min(len(p.sent), sentLimit6)])
		n.queue = append(n.queue, keep)
		l.waiting += len(p.frame)
	}
}

// evict removes the neighbor that was silent for longest, to make room for another.
func (c *Core) evict(l *leg) bool {
	var oldest *neighbor

	for _, n := range inOrder(l.neighbors) {
		if n.known() && c.now.Sub(n.learned) >= freshFor && (oldest == nil || n.learned.Before(oldest.learned)) {
			oldest = n
		}
	}

	if oldest == nil {
		return false
	}

	delete(l.neighbors, oldest.addr)

	return true
}

func etherType(a netip.Addr) uint16 {
	if a.Is4() {
		return uint16(header.IPv4ProtocolNumber)
	}

	return uint16(header.IPv6ProtocolNumber)
}

// ask sends a probe.
func (c *Core) ask(l *leg, n *neighbor) {
	n.asked++
	n.next = c.now.Add(probeEvery)
	c.wake(n.next)

	if n.addr.Is4() {
		c.askARP(l, n.addr)
	} else {
		c.solicitNeighbor(l, n.addr)
	}
}

// learn records a neighbor's hardware address and sends the packets that waited for it. An unknown neighbor is recorded
// only with create.
func (c *Core) learn(l *leg, addr netip.Addr, mac HardwareAddr, create bool) {
	if mac.group() || mac == (HardwareAddr{}) || mac == l.MAC || c.own[addr] != nil || !addr.IsValid() || addr.IsUnspecified() || addr.IsMulticast() {
		return
	}

	n := l.neighbors[addr]
	if n == nil {
		if !create || !l.onLink(addr) || len(l.neighbors) >= neighborLimit && !c.evict(l) {
			return
		}

		n = &neighbor{addr: addr}
		l.neighbors[addr] = n
	}

	n.mac, n.learned, n.asked = mac, c.now, 0

	for _, p := range n.queue {
		l.waiting -= len(p.frame)
		c.emit(l, p.frame, mac, etherType(addr))
	}

	n.queue = nil
}

// onLink reports whether an address is in one of the leg's subnets.
func (l *leg) onLink(a netip.Addr) bool {
	if a.IsLinkLocalUnicast() && a.Is6() {
		return l.linkLocal.IsValid()
	}

	for _, own := range l.Addresses {
		if own.Contains(a) {
			return true
		}
	}

	return false
}

// tickNeighbors probes neighbors again, and gives up on those that have not answered. The senders of queued packets get
// ICMP errors.
func (c *Core) tickNeighbors(l *leg) {
	for _, n := range inOrder(l.neighbors) {
		switch {
		case !n.asking() || c.now.Before(n.next):
		case n.asked < probes:
			c.ask(l, n)
		default:
			delete(l.neighbors, n.addr)

			for _, p := range n.queue {
				l.waiting -= len(p.frame)
				c.drop("neighbor does not answer")
				c.unreachable(&p, hostUnreachable)
			}
		}
	}
}

// inOrder returns neighbors in the order of their addresses, so that the router is deterministic.
func inOrder(neighbors map[netip.Addr]*neighbor) []*neighbor {
	return slices.SortedFunc(maps.Values(neighbors), func(a, b *neighbor) int { return a.addr.Compare(b.addr) })
}
