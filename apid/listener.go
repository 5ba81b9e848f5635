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
	// maxPending is how many connections may be pending: they have not shown a certificate yet. With more, the oldest one of
	// the host that has most of them is shed, so that a host with many loses its own. Package netgroup defines a host.
	maxPending = 256
	// fewPending is how many a recently admitted host keeps, as long as other hosts have some.
	fewPending = 8
	// maxConnections is how many connections may be admitted, and maxConnectionsOfHost how many from one host.
	maxConnections       = 1024
	maxConnectionsOfHost = 256
)

// listener limits the number of connections. It counts pending connections apart from those that are admitted: they have shown a
// certificate or, in maintenance mode, finished the TLS handshake. So strangers cannot take the places of the cluster's own
// clients. golang.org/x/net/netutil.LimitListener counts all alike, and locks the administrator out for as long as an attacker
// renews 1,024 silent connections.
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

// connection is a connection that the listener accepted.
type connection struct {
	net.Conn

	listener *listener
	from     netip.Prefix
	load     load
	closed   sync.Once

	// Guarded by the listener.
	state connectionState
	gone  func() // called when an admitted connection is closed

	// Guarded by the callers: when a call last ended.
	called time.Time

	// Guarded by the pressure: whether it was shed, and whether it is closed.
	shed, left bool
}

type connectionState uint8

const (
	pending connectionState = iota
	admitted
	closed
)

// Accept implements net.Listener. A connection of a host that connects too often is closed before it costs any computation.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}

		c, out := l.accept(conn)
		if out != nil {
			out.Close() // nothing reads from it
		}

		if c != nil {
			return c, nil
		}
	}
}

// accept returns the new pending connection, nil if it is refused, and a connection to close, if any.
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

// toShed returns the oldest pending connection of the host that has most of them. Recently admitted hosts keep a few, so that
// an attacker with many networks cannot take the places of the cluster's own clients.
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

// errFull refuses a connection over the limits.
var errFull = errors.New("too many connections")

// admit makes a pending connection an admitted one. It calls gone when the connection is closed.
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
