// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/seed-59268b81/talos/sys/netgroup"
)

const (
	// maxPending connections that have not shown a certificate yet. With more, the oldest of the host that has most of
	// them goes: whoever opens many loses its own. See package netgroup for what a host is.
	maxPending = 256
	// fewPending are what a host keeps in any case that was inside lately, as long as there are others.
	fewPending = 8
	// maxConnections that have, and how many of them from one host.
	maxConnections       = 1024
	maxConnectionsOfHost = 256
)

// door is a listener that bounds how many connections there are. Those that have proved who they are (or, in
// maintenance mode, have come through the TLS handshake) and those that have not are counted apart, so that strangers
// cannot take the places of the cluster's own.
type door struct {
	net.Listener

	pressure *pressure

	mu      sync.Mutex
	pending map[netip.Prefix][]*visitor // oldest first
	waiting int
	inside  map[netip.Prefix]map[*visitor]struct{}
	total   int
	rates   *rates
}

func newDoor(l net.Listener, p *pressure) *door {
	return &door{Listener: l, pressure: p, pending: map[netip.Prefix][]*visitor{}, inside: map[netip.Prefix]map[*visitor]struct{}{}, rates: newRates()}
}

// visitor is a connection through the door.
type visitor struct {
	net.Conn

	door   *door
	from   netip.Prefix
	state  visitorState // guarded by the door
	closed sync.Once
	load   load
	// gone is called when it is closed that was inside: guarded by the door.
	gone func()

	// When it was cut off, and whether it is closed: guarded by the pressure.
	cut  time.Time
	left bool
}

type visitorState uint8

const (
	visitorPending visitorState = iota
	visitorInside
	visitorGone
)

// Accept implements net.Listener. A host that comes too often is hung up on before anything is computed for it.
func (d *door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}

		v, out := d.admit(conn)
		if out != nil {
			out.Close() // it is nobody's
		}

		if v != nil {
			return v, nil
		}
	}
}

// admit returns the visitor that a connection becomes, nil if it does not become one, and what is to be closed.
func (d *door) admit(conn net.Conn) (v *visitor, out net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()

	from := netgroup.OfPeer(conn.RemoteAddr())
	if !d.rates.allow(from, time.Now()) {
		return nil, conn
	}

	v = &visitor{Conn: conn, door: d, from: from}
	d.pending[from] = append(d.pending[from], v)
	d.waiting++

	if d.waiting > maxPending {
		return v, d.crowded()
	}

	return v, nil
}

// crowded returns the oldest pending connection of the host that has most of them. Those that were inside lately keep a few:
// who comes from many networks at once shall not take the places of the cluster's own.
func (d *door) crowded() *visitor {
	var most, mostOfAll []*visitor

	for host, visitors := range d.pending {
		if len(visitors) > len(mostOfAll) {
			mostOfAll = visitors
		}

		if len(visitors) > len(most) && (len(visitors) > fewPending || !d.rates.known(host, time.Now())) {
			most = visitors
		}
	}

	if most == nil {
		most = mostOfAll
	}

	return most[0]
}

// errFull is for a connection that there is no place for.
var errFull = errors.New("too many connections")

// enter moves a connection from the pending ones inside. It has gone called when the connection is closed.
func (v *visitor) enter(gone func()) error {
	d := v.door

	d.mu.Lock()
	defer d.mu.Unlock()

	if v.state != visitorPending {
		return net.ErrClosed
	}

	if d.total >= maxConnections || len(d.inside[v.from]) >= maxConnectionsOfHost {
		return errFull
	}

	d.notPending(v)
	d.rates.entered(v.from, time.Now())

	if d.inside[v.from] == nil {
		d.inside[v.from] = map[*visitor]struct{}{}
	}

	v.state, v.gone = visitorInside, gone
	d.inside[v.from][v] = struct{}{}
	d.total++

	return nil
}

func (d *door) notPending(v *visitor) {
	visitors := d.pending[v.from]

	for i := range visitors {
		if visitors[i] == v {
			visitors = append(visitors[:i:i], visitors[i+1:]...)

			break
		}
	}

	if d.pending[v.from] = visitors; len(visitors) == 0 {
		delete(d.pending, v.from)
	}

	d.waiting--
}

// Close implements net.Conn.
func (v *visitor) Close() error {
	v.closed.Do(func() { v.leave()() })

	return v.Conn.Close()
}

func (v *visitor) leave() (gone func()) {
	d := v.door
	d.pressure.left(v)

	d.mu.Lock()
	defer d.mu.Unlock()

	switch v.state {
	case visitorPending:
		d.notPending(v)
	case visitorInside:
		delete(d.inside[v.from], v)

		if len(d.inside[v.from]) == 0 {
			delete(d.inside, v.from)
		}

		d.total--
	case visitorGone:
	}

	v.state = visitorGone

	if v.gone == nil { // it was not inside
		return func() {}
	}

	return v.gone
}

// atDoor are transport credentials that tell the door when somebody has come in.
type atDoor struct {
	credentials.TransportCredentials

	log     *slog.Logger
	callers *callers
}

// ServerHandshake implements credentials.TransportCredentials.
func (c atDoor) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	inner, info, err := c.TransportCredentials.ServerHandshake(conn)

	t, isTLS := info.(credentials.TLSInfo)

	if v, ok := conn.(*visitor); ok && err == nil {
		gone := func() {}
		if isTLS && len(t.State.PeerCertificates) == 0 {
			gone = c.callers.stranger(v)
		}

		if err = v.enter(gone); err != nil {
			gone()
			inner.Close() // it is not let in
		}
	}

	// Who only looks whether the port is open is no news.
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		c.log.Warn("connection refused", "from", conn.RemoteAddr(), "error", err)
	}

	if isTLS && err == nil {
		info = &identity{TLSInfo: t, conn: conn}
	}

	return inner, info, err
}

// identity is what is known of a caller: its certificate and its connection.
type identity struct {
	credentials.TLSInfo

	conn net.Conn
	// accepted are the authorities that the certificate was last checked against.
	accepted atomic.Pointer[x509.CertPool]
}

// Clone implements credentials.TransportCredentials.
func (c atDoor) Clone() credentials.TransportCredentials {
	return atDoor{c.TransportCredentials.Clone(), c.log, c.callers}
}
