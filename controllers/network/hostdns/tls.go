// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// overTLS asks over TLS, on an idle connection if there is one. The upstream may have closed that one: then on a new one.
func (c *Client) overTLS(ctx context.Context, to Upstream, query *dns.Msg) (*dns.Msg, error) {
	if conn := c.idle.take(to); conn != nil {
		if answer, err := converse(ctx, conn, query); err == nil {
			c.idle.give(to, conn)

			return answer, nil
		}

		_ = conn.Close()
	}

	conn, err := c.dialTLS(ctx, to, "dot")
	if err != nil {
		return nil, err
	}

	answer, err := converse(ctx, conn, query)
	if err != nil {
		_ = conn.Close()

		return nil, err
	}

	c.idle.give(to, conn)

	return answer, nil
}

// maxIdle is the number of idle connections to one upstream.
const maxIdle = 4

// idleConns are open connections without queries.
type idleConns struct {
	mu    sync.Mutex
	conns map[Upstream][]*idleConn // the last used one is the last
}

type idleConn struct {
	net.Conn

	expire *time.Timer
}

func (i *idleConns) take(to Upstream) net.Conn {
	i.mu.Lock()
	defer i.mu.Unlock()

	conns := i.conns[to]
	if len(conns) == 0 {
		return nil
	}

	last := conns[len(conns)-1]
	i.conns[to] = conns[:len(conns)-1]

	last.expire.Stop()

	return last.Conn
}

func (i *idleConns) give(to Upstream, conn net.Conn) {
	i.mu.Lock()
	defer i.mu.Unlock()

	if i.conns == nil {
		i.conns = map[Upstream][]*idleConn{}
	}

	if len(i.conns[to]) >= maxIdle {
		_ = conn.Close()

		return
	}

	given := &idleConn{Conn: conn}
	given.expire = time.AfterFunc(idleTime, func() { i.remove(to, given) })
	i.conns[to] = append(i.conns[to], given)
}

// remove closes a connection that is still idle.
func (i *idleConns) remove(to Upstream, conn *idleConn) {
	i.mu.Lock()
	defer i.mu.Unlock()

	for at, c := range i.conns[to] {
		if c == conn {
			_ = conn.Close()
			i.conns[to] = append(i.conns[to][:at:at], i.conns[to][at+1:]...)

			return
		}
	}
}

func (i *idleConns) close() {
	i.mu.Lock()
	defer i.mu.Unlock()

	for _, conns := range i.conns {
		for _, c := range conns {
			c.expire.Stop()
			_ = c.Close()
		}
	}

	i.conns = nil
}
