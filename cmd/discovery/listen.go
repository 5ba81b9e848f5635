// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/sys/netgroup"
)

// listeners of the process; nil for none.
type listeners struct {
	main, landing, metrics, debug net.Listener
}

func listen(ctx context.Context, o options) (all listeners, err error) {
	for _, l := range []struct {
		address string
		to      *net.Listener
	}{{o.addr, &all.main}, {o.landing, &all.landing}, {o.metrics, &all.metrics}, {o.debugAddr, &all.debug}} {
		if l.address == "" && l.to != &all.main {
			continue
		}

		if *l.to, err = (&net.ListenConfig{}).Listen(ctx, "tcp", l.address); err != nil {
			all.close()

			return listeners{}, err
		}
	}

	if o.certificate == "" {
		return all, nil
	}

	pair := &certificate{options: o}
	if _, err := pair.get(); err != nil {
		all.close()

		return listeners{}, err
	}

	return all, nil
}

func (l listeners) close() {
	for _, one := range []net.Listener{l.main, l.landing, l.metrics, l.debug} {
		if one != nil {
			one.Close()
		}
	}
}

// certificate is the certificate in the files, which may change.
type certificate struct {
	options options

	mu      sync.Mutex
	checked time.Time
	times   [2]time.Time
	pair    *tls.Certificate
}

// get returns the certificate. When the files cannot be read, the one before is used: a change may be half done.
func (c *certificate) get() (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.pair != nil && time.Since(c.checked) < time.Second {
		return c.pair, nil
	}

	c.checked = time.Now()

	var times [2]time.Time

	for i, path := range []string{c.options.certificate, c.options.key} {
		if info, err := os.Stat(path); err == nil {
			times[i] = info.ModTime()
		}
	}

	if c.pair != nil && times == c.times {
		return c.pair, nil
	}

	pair, err := tls.LoadX509KeyPair(c.options.certificate, c.options.key)
	if err != nil {
		if c.pair != nil {
			return c.pair, nil
		}

		return nil, err
	}

	c.pair, c.times = &pair, times

	return c.pair, nil
}

// config returns the configuration of TLS. A browser, which offers HTTP/1.1 as well, gets that: HTTP/2 is for calls.
func (c *certificate) config() *tls.Config {
	base := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.get() },
	}

	browser := base.Clone()
	browser.NextProtos = []string{"http/1.1"}

	base.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if slices.Contains(hello.SupportedProtos, "http/1.1") || len(hello.SupportedProtos) == 0 {
			return browser, nil
		}

		return nil, nil
	}

	return base
}

// split divides the connections of one listener: HTTP/2 is for calls, everything else for the pages.
type split struct {
	from         net.Listener
	tls          *tls.Config
	calls, pages *part

	// hosts counts the connections of each host other than proxies.
	most    int
	proxies []netip.Prefix
	mu      sync.Mutex
	hosts   map[netip.Prefix]int
}

func newSplit(from net.Listener, o options) *split {
	s := &split{
		from: from, calls: newPart(from.Addr()), pages: newPart(from.Addr()),
		most: o.service.Watches, proxies: o.service.Trust.Proxies, hosts: map[netip.Prefix]int{},
	}
	if o.certificate != "" {
		s.tls = (&certificate{options: o}).config()
	}

	return s
}

// beginning is how long a connection may take until it is known what it is for.
const beginning = 10 * time.Second

func (s *split) run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()

	stop := context.AfterFunc(ctx, func() { s.from.Close() })
	defer stop()

	for {
		conn, err := s.from.Accept()

		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			// Too many open files: wait for some to close.
			time.Sleep(100 * time.Millisecond)
		default:
			if one, ok := s.enter(conn); ok {
				running.Go(func() { s.sort(ctx, one) })
			} else {
				conn.Close()
			}
		}
	}
}

// enter counts a connection until it is closed, unless its host has too many.
func (s *split) enter(conn net.Conn) (net.Conn, bool) {
	host := netgroup.OfPeer(conn.RemoteAddr())

	if slices.ContainsFunc(s.proxies, func(p netip.Prefix) bool { return p.Contains(host.Addr()) }) {
		return conn, true
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if s.hosts[host] >= s.most {
		return nil, false
	}

	s.hosts[host]++

	return &hostConn{Conn: conn, leave: sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()

		if s.hosts[host]--; s.hosts[host] == 0 {
			delete(s.hosts, host)
		}
	})}, true
}

// hostConn is a connection that counts for its host until it is closed.
type hostConn struct {
	net.Conn

	leave func()
}

// Close implements net.Conn.
func (c *hostConn) Close() error {
	c.leave()

	return c.Conn.Close()
}

func (s *split) sort(ctx context.Context, conn net.Conn) {
	raw := conn
	stop := context.AfterFunc(ctx, func() { raw.SetDeadline(time.Now()) })

	conn.SetDeadline(time.Now().Add(beginning))

	if s.tls != nil {
		conn = tls.Server(conn, s.tls)
	}

	peeked := &peekedConn{Conn: conn, r: bufio.NewReaderSize(conn, 16)}

	start, err := peeked.r.Peek(3)
	if err != nil || !stop() {
		conn.Close()

		return
	}

	conn.SetDeadline(time.Time{})

	if string(start) == "PRI" {
		s.calls.give(peeked)
	} else {
		s.pages.give(peeked)
	}
}

// peekedConn is a connection whose first bytes were looked at.
type peekedConn struct {
	net.Conn

	r *bufio.Reader
}

// Read implements net.Conn.
func (c *peekedConn) Read(p []byte) (int, error) {
	if c.r == nil {
		return c.Conn.Read(p)
	}

	n, err := c.r.Read(p[:min(len(p), max(c.r.Buffered(), 1))])
	if c.r.Buffered() == 0 {
		c.r = nil // the buffer is not needed for as long as a watch lasts
	}

	return n, err
}

// part is a listener of connections that are given to it.
type part struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newPart(addr net.Addr) *part {
	p := &part{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })

	return p
}

func (p *part) give(conn net.Conn) {
	select {
	case p.conns <- conn:
	case <-p.closed:
		conn.Close()
	}
}

var errClosed = errors.New("the listener is closed")

// Accept implements net.Listener.
func (p *part) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, errClosed
	}
}

// Close implements net.Listener.
func (p *part) Close() error {
	p.close()

	return nil
}

// Addr implements net.Listener.
func (p *part) Addr() net.Addr { return p.addr }
