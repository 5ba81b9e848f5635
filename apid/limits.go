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
)

const (
	// maxPending connections that have not shown a certificate yet. With more, the oldest of the source that has most of
	// them goes: whoever opens many loses its own.
	maxPending = 256
	// maxConnections that have, and how many of them from one address.
	maxConnections          = 1024
	maxConnectionsOfAddress = 256
)

// door is a listener that bounds how many connections there are. Those that have proved who they are (or, in
// maintenance mode, have come through the TLS handshake) and those that have not are counted apart, so that strangers
// cannot take the places of the cluster's own.
type door struct {
	net.Listener

	pressure *pressure

	mu      sync.Mutex
	pending map[netip.Addr][]*visitor // oldest first
	waiting int
	inside  map[netip.Addr]map[*visitor]struct{}
	total   int
}

func newDoor(l net.Listener, p *pressure) *door {
	return &door{Listener: l, pressure: p, pending: map[netip.Addr][]*visitor{}, inside: map[netip.Addr]map[*visitor]struct{}{}}
}

// visitor is a connection through the door.
type visitor struct {
	net.Conn

	door   *door
	from   netip.Addr
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

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}

	v := &visitor{Conn: conn, door: d, from: addressOf(conn)}

	d.mu.Lock()
	d.pending[v.from] = append(d.pending[v.from], v)
	d.waiting++

	var out *visitor
	if d.waiting > maxPending {
		out = d.crowded()
	}
	d.mu.Unlock()

	if out != nil {
		out.Close() //nolint:errcheck // it is nobody's
	}

	return v, nil
}

// crowded returns the oldest pending connection of the address that has most of them.
func (d *door) crowded() *visitor {
	var most []*visitor

	for _, visitors := range d.pending {
		if len(visitors) > len(most) {
			most = visitors
		}
	}

	return most[0]
}

func addressOf(conn net.Conn) netip.Addr {
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}

	return netip.Addr{}
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

	if d.total >= maxConnections || len(d.inside[v.from]) >= maxConnectionsOfAddress {
		return errFull
	}

	d.notPending(v)

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
			inner.Close() //nolint:errcheck // it is not let in
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
