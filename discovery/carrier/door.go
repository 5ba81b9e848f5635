// SPDX-License-Identifier: Apache-2.0

package carrier

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/seed-59268b81/talos/sys/netgroup"
)

const (
	// maxStrangers is how many connections there may be whose end has not proved yet who it is, and maxStrangersEach of one host. Machines
	// behind one NAT come back at the same time.
	maxStrangers     = 512
	maxStrangersEach = 128
	// strangerTime is how long a connection may be one of them.
	strangerTime = 10 * time.Second
	// maxConnections is how many connections there may be: the machines of the largest cluster, twice while they connect again.
	maxConnections = 10_000
)

// door limits the connections of strangers. A stranger is known as soon as it has made a call with a proof.
type door struct {
	// patience is how long a connection may be a stranger.
	patience time.Duration

	mu        sync.Mutex
	open      int
	strangers int
	of        map[netip.Prefix]int
}

func newDoor() *door { return &door{patience: strangerTime, of: map[netip.Prefix]int{}} }

var errFull = errors.New("too many connections without a proof")

// enter admits a connection, which its stranger closes if it stays one.
func (d *door) enter(conn net.Conn) (*stranger, error) {
	host := netgroup.OfPeer(conn.RemoteAddr())

	d.mu.Lock()
	defer d.mu.Unlock()

	if d.open >= maxConnections || d.strangers >= maxStrangers || d.of[host] >= maxStrangersEach {
		return nil, errFull
	}

	d.open++
	d.strangers++
	d.of[host]++

	s := &stranger{door: d, host: host}
	s.known = sync.OnceFunc(s.leave)
	s.timer = time.AfterFunc(d.patience, func() { conn.Close() })

	return s, nil
}

func (d *door) closed() {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.open--
}

// stranger is a connection without a proof.
type stranger struct {
	door *door
	host netip.Prefix
	// known ends that.
	known func()
	timer *time.Timer
}

func (s *stranger) leave() {
	s.timer.Stop()

	s.door.mu.Lock()
	defer s.door.mu.Unlock()

	s.door.strangers--

	if s.door.of[s.host]--; s.door.of[s.host] == 0 {
		delete(s.door.of, s.host)
	}
}

// admission are transport credentials that let connections through the door before their handshake, which costs most.
type admission struct {
	credentials.TransportCredentials

	door *door
}

// identity is what calls know about their connection.
type identity struct {
	credentials.TLSInfo

	stranger *stranger
}

// ServerHandshake implements credentials.TransportCredentials.
func (a admission) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	s, err := a.door.enter(conn)
	if err != nil {
		return nil, nil, err
	}

	leave := sync.OnceFunc(func() {
		s.known()
		a.door.closed()
	})

	secure, info, err := a.TransportCredentials.ServerHandshake(conn)
	if err != nil {
		leave()

		return nil, nil, err
	}

	t, ok := info.(credentials.TLSInfo)
	if !ok {
		leave()
		secure.Close()

		return nil, nil, errors.New("the connection has no TLS")
	}

	return &admitted{Conn: secure, leave: leave}, &identity{TLSInfo: t, stranger: s}, nil
}

// Clone implements credentials.TransportCredentials.
func (a admission) Clone() credentials.TransportCredentials {
	return admission{a.TransportCredentials.Clone(), a.door}
}

// admitted is a connection that counts until it is closed.
type admitted struct {
	net.Conn

	leave func()
}

// Close implements net.Conn.
func (c *admitted) Close() error {
	c.leave()

	return c.Conn.Close()
}
