// SPDX-License-Identifier: Apache-2.0

package kubeprism

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// dialTimeout is the timeout of a connection, and of its handshake.
	dialTimeout = 5 * time.Second
	// probeIdle is longer than usedInterval: an API server that is in use is probed over one connection, since a handshake costs it more than
	// an answer. Connections to the others are closed.
	probeIdle = 2 * usedInterval
	// maxAnswer bounds what is read of an answer. A connection whose answer was not read to its end cannot be used again.
	maxAnswer = 64 << 10
)

// Prober probes API servers over its own connections. The zero value accepts every server.
//
// Clients of the balancer verify certificates themselves. The prober verifies them to find servers that do not belong to the cluster: while the
// node's own API server does not run, any program on the host's network can listen on its port, and would be the first upstream.
type Prober struct {
	cas  atomic.Pointer[x509.CertPool]
	name atomic.Pointer[string]

	mu sync.Mutex
	// trusted are the authorities in cas.
	trusted []byte
	client  *http.Client
}

// Trust sets the authorities (PEM) that sign API servers; without any, all servers are accepted.
func (p *Prober) Trust(authorities []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.cas.Load() != nil && bytes.Equal(p.trusted, authorities) {
		return
	}

	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authorities) {
		pool = nil
	}

	p.cas.Store(pool)
	p.trusted = bytes.Clone(authorities)
	p.renew()
}

// Expect sets the name that API servers must have in their certificates; with "", any name is accepted.
func (p *Prober) Expect(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.expected() != name {
		p.name.Store(&name)
		p.renew()
	}
}

// Close closes the connections that no probe uses.
func (p *Prober) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.renew()
}

// renew makes the next probes connect again, with what is expected of a server by then.
func (p *Prober) renew() {
	if p.client != nil {
		p.client.CloseIdleConnections()
		p.client = nil
	}
}

// asks returns the client of the probes.
func (p *Prober) asks() *http.Client {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.client == nil {
		p.client = &http.Client{
			Timeout: 2 * dialTimeout,
			Transport: &http.Transport{
				MaxIdleConnsPerHost: 1,
				IdleConnTimeout:     probeIdle,
				DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
				TLSHandshakeTimeout: dialTimeout,
				TLSClientConfig: &tls.Config{
					InsecureSkipVerify: true, // verify does
					MinVersion:         tls.VersionTLS12, VerifyConnection: p.verify, ServerName: p.expected(),
				},
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}

	return p.client
}

// Readyz asks an API server whether it is ready. It calls answered after the handshake of a new connection, since the answer may take longer.
// A server that refuses unauthenticated clients counts as ready.
func (p *Prober) Readyz(ctx context.Context, address string, answered func()) error {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
		if err == nil {
			answered()
		}
	}})

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/readyz", nil)
	if err != nil {
		return err
	}

	response, err := p.asks().Do(request)
	if err != nil {
		if own := (*url.Error)(nil); errors.As(err, &own) && !own.Timeout() {
			return own.Err // without the URL, which the reader knows
		}

		return err
	}

	defer response.Body.Close() // its rest is not read

	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer) // the status has arrived

	answered() // also over a connection of an earlier probe

	if response.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("the API server is not ready: status %s", response.Status)
	}

	return nil
}

func (p *Prober) expected() string {
	if name := p.name.Load(); name != nil {
		return *name
	}

	return ""
}

// verify checks the authority, and the name if one is expected: an API server has many names, and a wrong clock does not make its certificate
// another cluster's.
func (p *Prober) verify(state tls.ConnectionState) error {
	if name := p.expected(); name != "" {
		if err := state.PeerCertificates[0].VerifyHostname(name); err != nil {
			return err
		}
	}

	cas := p.cas.Load()
	if cas == nil {
		return nil
	}

	leaf, between := state.PeerCertificates[0], x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		between.AddCert(certificate)
	}

	_, err := leaf.Verify(x509.VerifyOptions{Roots: cas, Intermediates: between, CurrentTime: leaf.NotBefore})

	return err
}
