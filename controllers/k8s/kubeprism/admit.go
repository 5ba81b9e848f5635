// SPDX-License-Identifier: Apache-2.0

package kubeprism

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"

	"github.com/seed-59268b81/talos/sys/netstat"
)

const (
	// maxLinks bounds the resources of process 1 that clients can use.
	maxLinks = 1000
	// rootLinks of them are for programs of user 0, such as the kubelet. A pod on the host's network that runs as another user cannot
	// take them.
	rootLinks = 200
)

// limits are how many connections are admitted: all at once, and the last ones of them for root only.
type limits struct {
	all, root int
	isRoot    func(net.Conn) bool
}

var usual = limits{all: maxLinks, root: rootLinks, isRoot: func(conn net.Conn) bool {
	return ownedByRoot(os.DirFS("/proc/thread-self/net"), conn)
}}

// admit counts a connection from when it is accepted until leave is called. It reports false when there are too many already. The owner of the
// client's socket is looked up only when the part for everyone is in use.
func (b *Balancer) admit(conn net.Conn) (leave func(), ok bool) {
	l := &usual
	if b.limits != nil {
		l = b.limits
	}

	if !b.take(l.all-l.root) && !(b.take(l.all) && b.keep(l.isRoot(conn))) {
		return nil, false
	}

	return b.leave, true
}

// take counts one more connection if there are fewer than limit.
func (b *Balancer) take(limit int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.links >= limit {
		return false
	}

	b.links++

	return true
}

// keep takes the last connection back unless it may stay.
func (b *Balancer) keep(may bool) bool {
	if !may {
		b.leave()
	}

	return may
}

func (b *Balancer) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.links--
}

// errFound ends the search of a table of sockets.
var errFound = errors.New("found")

// ownedByRoot reports whether the other end of a local connection belongs to user 0. tables is the folder /proc/net.
func ownedByRoot(tables fs.FS, conn net.Conn) bool {
	client, server := addressOf(conn.RemoteAddr()), addressOf(conn.LocalAddr())
	root := false

	// A socket of IPv6 connects to an address of IPv4, too.
	for _, protocol := range []string{"tcp", "tcp6"} {
		err := netstat.ReadFile(tables, protocol, func(s netstat.Socket) error {
			if unmapped(s.Local) != client || unmapped(s.Remote) != server {
				return nil
			}

			// A socket that its process has closed is listed as root's.
			root = s.State == netstat.Established && s.UID == 0

			return errFound
		})
		if errors.Is(err, errFound) {
			return root
		}
	}

	return false
}

func addressOf(addr net.Addr) netip.AddrPort {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}

	return unmapped(tcp.AddrPort())
}

func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
