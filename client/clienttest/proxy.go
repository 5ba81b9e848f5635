// SPDX-License-Identifier: Apache-2.0

package clienttest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
)

// Proxy is an HTTP proxy on loopback that only opens tunnels.
type Proxy struct {
	// URL is its address, with the name and password that it requires.
	URL *url.URL

	mu      sync.Mutex
	tunnels []string
}

// StartProxy starts a proxy that serves until the test ends.
func StartProxy(t testing.TB) *Proxy {
	t.Helper()

	p := &Proxy{}
	server := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(server.Close)

	p.URL = &url.URL{Scheme: "http", User: url.UserPassword("name", "pass:word"), Host: server.Listener.Addr().String()}

	return p
}

// Tunnels returns the addresses to which tunnels were opened, in order.
func (p *Proxy) Tunnels() []string {
	p.mu.Lock()
	defer p.mu.Unlock()

	return append([]string(nil), p.tunnels...)
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	// A proxy gets name and password in the same format as a server, in another header.
	r.Header.Set("Authorization", r.Header.Get("Proxy-Authorization"))

	name, password, _ := r.BasicAuth()
	if wanted, _ := p.URL.User.Password(); name != p.URL.User.Username() || password != wanted {
		w.WriteHeader(http.StatusProxyAuthRequired)

		return
	}

	if r.Method != http.MethodConnect {
		w.WriteHeader(http.StatusMethodNotAllowed)

		return
	}

	far, err := net.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)

		return
	}
	defer far.Close()

	near, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)

		return
	}
	defer near.Close()

	p.mu.Lock()
	p.tunnels = append(p.tunnels, r.Host)
	p.mu.Unlock()

	if _, err := fmt.Fprint(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}

	back := make(chan struct{})

	go func() {
		defer close(back)

		io.Copy(near, far) // either side may end the tunnel
		near.Close()
	}()

	io.Copy(far, near)
	far.Close()
	<-back
}
