// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"net"
	"net/netip"
	"sync"

	"github.com/seed-59268b81/talos/sys/netgroup"
)

// Limits of open connections. Each costs about 30 KiB.
const (
	maxConnections     = 1024
	maxConnectionsEach = 64
)

// boundedListener closes connections over the limits, so that a peer with many cannot lock others out.
type boundedListener struct {
	net.Listener

	all, each int

	mu   sync.Mutex
	open int
	of   map[netip.Prefix]int
}

func bounded(l net.Listener, all, each int) *boundedListener {
	return &boundedListener{Listener: l, all: all, each: each, of: map[netip.Prefix]int{}}
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}

		peer := netgroup.OfPeer(conn.RemoteAddr())

		if l.enter(peer) {
			return &boundedConn{Conn: conn, leave: sync.OnceFunc(func() { l.leave(peer) })}, nil
		}

		conn.Close() // nothing was sent yet
	}
}

func (l *boundedListener) enter(peer netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.open >= l.all || l.of[peer] >= l.each {
		return false
	}

	l.open++
	l.of[peer]++

	return true
}

func (l *boundedListener) leave(peer netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.open--

	if l.of[peer]--; l.of[peer] == 0 {
		delete(l.of, peer)
	}
}

type boundedConn struct {
	net.Conn

	leave func()
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	c.leave()

	return c.Conn.Close()
}

// addrOf returns the IP address of a TCP address, and an invalid one for other types.
func addrOf(addr net.Addr) netip.Addr {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr()
	}

	return netip.Addr{}
}
