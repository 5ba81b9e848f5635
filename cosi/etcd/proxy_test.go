// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"net"
	"sync"
	"testing"
	"time"
)

// proxy passes connections on to a server, and can cut them or make them hang.
type proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	conns map[net.Conn]bool
	hung  chan struct{} // closed when bytes pass again
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)

	p := &proxy{listener: l, target: target, conns: map[net.Conn]bool{}, hung: make(chan struct{})}
	close(p.hung)
	t.Cleanup(func() {
		l.Close()
		p.cut()
	})

	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}

			go p.serve(conn)
		}
	}()

	return p
}

func (p *proxy) endpoint() string { return p.listener.Addr().String() }

func (p *proxy) serve(from net.Conn) {
	to, err := net.Dial("tcp", p.target)
	if err != nil {
		from.Close() // the server refuses the connection

		return
	}

	p.mu.Lock()
	p.conns[from], p.conns[to] = true, true
	p.mu.Unlock()

	var wg sync.WaitGroup

	wg.Go(func() { p.pass(from, to) })
	wg.Go(func() { p.pass(to, from) })
	wg.Wait()

	p.mu.Lock()
	delete(p.conns, from)
	delete(p.conns, to)
	p.mu.Unlock()
}

func (p *proxy) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()

	for b := make([]byte, 32<<10); ; {
		n, err := from.Read(b)

		p.mu.Lock()
		hung := p.hung
		p.mu.Unlock()
		<-hung

		if err != nil {
			return
		}

		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()

	for conn := range p.conns {
		conn.Close() // it is cut
	}
}

// hang lets nothing pass for a time and then cuts the connections, so data in transit is lost.
func (p *proxy) hang(d time.Duration) {
	through := make(chan struct{})

	p.mu.Lock()
	p.hung = through
	p.mu.Unlock()

	time.Sleep(d)
	p.cut()
	close(through)
}
