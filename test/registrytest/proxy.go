// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Proxy runs a proxy at a listener until the test ends. It connects clients to the registry, by its name, and to nothing else. With another status
// than OK it answers everything with that. It returns how many connections it has made.
func (r *Registry) Proxy(tb testing.TB, l net.Listener, status int) (connections func() int) {
	p := &proxy{to: r.Host, status: status}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: p}}
	server.Start()

	tb.Cleanup(func() {
		server.Close()
		p.close()
	})

	return func() int {
		p.mu.Lock()
		defer p.mu.Unlock()

		return p.made
	}
}

type proxy struct {
	to     string
	status int

	mu     sync.Mutex
	made   int
	open   []net.Conn
	closed bool
	tasks  sync.WaitGroup
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	host, _, _ := net.SplitHostPort(q.Host)

	switch {
	case p.status != http.StatusOK:
		w.WriteHeader(p.status)

		return
	case q.Method != http.MethodConnect:
		w.WriteHeader(http.StatusMethodNotAllowed)

		return
	case host != Name:
		w.WriteHeader(http.StatusBadGateway)

		return
	}

	back, err := net.Dial("tcp", p.to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)

		return
	}

	front, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		back.Close()

		return
	}

	_, _ = io.WriteString(front, "HTTP/1.1 200 OK\r\n\r\n")

	p.mu.Lock()
	defer p.mu.Unlock()

	if p.closed { // the server does not wait for hijacked connections
		front.Close()
		back.Close()

		return
	}

	p.made++
	p.open = append(p.open, front, back)

	for _, pair := range [][2]net.Conn{{front, back}, {back, front}} {
		p.tasks.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			pair[0].Close()
		})
	}
}

// close ends all connections.
func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true

	for _, c := range p.open {
		c.Close()
	}

	p.mu.Unlock()
	p.tasks.Wait()
}
