// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/sys/netgroup"
)

const (
	// maxPending connections that have not shown a certificate yet. With more, the oldest of the host that has most of
	// them is shed: whoever opens many loses its own. See package netgroup for what a host is.
	maxPending = 256
	// fewPending are what a host keeps in any case that was admitted lately, as long as there are others.
	fewPending = 8
	// maxConnections that have, and how many of them from one host.
	maxConnections       = 1024
	maxConnectionsOfHost = 256
)

// listener bounds how many connections there are. Those that are admitted (they have proved who they are or, in maintenance mode, have
// come through the TLS handshake) and those that are pending are counted apart, so that strangers cannot take the places of the
// cluster's own: golang.org/x/net/netutil.LimitListener, which counts all alike, locks the administrator out for as long as 1,024 silent
// connections are renewed.
type listener struct {
	net.Listener

	pressure *pressure

	mu           sync.Mutex
	pending      map[netip.Prefix][]*connection // oldest first
	pendingCount int
	admitted     map[netip.Prefix]int
	total        int // of those admitted
	rates        *rates
}

func newListener(l net.Listener, p *pressure) *listener {
	return &listener{
		Listener: l, pressure: p, pending: map[netip.Prefix][]*connection{}, admitted: map[netip.Prefix]int{}, rates: newRates(),
	}
}

// connection is one that the listener accepted.
type connection struct {
	net.Conn

	listener *listener
	from     netip.Prefix
	load     load
	closed   sync.Once

	// Guarded by the listener.
	state connectionState
	gone  func() // called when it is closed, if it was admitted

	// Guarded by the pressure: it was cut off; it is closed.
	shed, left bool
}

type connectionState uint8

const (
	pending connectionState = iota
	admitted
	closed
)

// Accept implements net.Listener. A host that comes too often is hung up on before anything is computed for it.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}

		c, out := l.accept(conn)
		if out != nil {
			out.Close() // nobody reads from it
		}

		if c != nil {
			return c, nil
		}
	}
}

// accept returns the pending connection that a new one becomes, nil if it becomes none, and what is to be closed.
func (l *listener) accept(conn net.Conn) (c *connection, out net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()

	from := netgroup.OfPeer(conn.RemoteAddr())
	if !l.rates.allow(from, time.Now()) {
		return nil, conn
	}

	c = &connection{Conn: conn, listener: l, from: from}
	l.pending[from] = append(l.pending[from], c)
	l.pendingCount++

	if l.pendingCount > maxPending {
		return c, l.toShed()
	}

	return c, nil
}

// toShed returns the oldest pending connection of the host that has most of them. Hosts that were admitted lately keep a few: who comes
// from many networks at once shall not take the places of the cluster's own.
func (l *listener) toShed() *connection {
	var most, mostOfAll []*connection

	for host, all := range l.pending {
		if len(all) > len(mostOfAll) {
			mostOfAll = all
		}

		if len(all) > len(most) && (len(all) > fewPending || !l.rates.known(host, time.Now())) {
			most = all
		}
	}

	if most == nil {
		most = mostOfAll
	}

	return most[0]
}

// errFull is for a connection that there is no place for.
var errFull = errors.New("too many connections")

// admit counts a connection among those admitted. It has gone called when the connection is closed.
func (c *connection) admit(gone func()) error {
	l := c.listener

	l.mu.Lock()
	defer l.mu.Unlock()

	switch {
	case c.state != pending:
		return net.ErrClosed
	case l.total >= maxConnections || l.admitted[c.from] >= maxConnectionsOfHost:
		return errFull
	}

	l.notPending(c)
	l.rates.entered(c.from, time.Now())

	c.state, c.gone = admitted, gone
	l.admitted[c.from]++
	l.total++

	return nil
}

func (l *listener) notPending(c *connection) {
	l.pending[c.from] = slices.DeleteFunc(l.pending[c.from], func(other *connection) bool { return other == c })
	if len(l.pending[c.from]) == 0 {
		delete(l.pending, c.from)
	}

	l.pendingCount--
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.closed.Do(func() {
		c.listener.pressure.left(c)

		if gone := c.leave(); gone != nil {
			gone()
		}
	})

	return c.Conn.Close()
}

func (c *connection) leave() (gone func()) {
	l := c.listener

	l.mu.Lock()
	defer l.mu.Unlock()

	switch c.state {
	case pending:
		l.notPending(c)
	case admitted:
		l.total--

		if l.admitted[c.from]--; l.admitted[c.from] == 0 {
			delete(l.admitted, c.from)
		}
	case closed:
	}

	c.state = closed

	return c.gone
}
