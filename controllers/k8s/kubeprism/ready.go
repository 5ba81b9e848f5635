// SPDX-License-Identifier: Apache-2.0

package kubeprism

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

// dialTimeout is the timeout of a connection, and of its handshake.
const dialTimeout = 5 * time.Second

// Prober probes API servers over its own connections. The zero value accepts every server.
//
// Clients of the balancer verify certificates themselves. The prober verifies them to find servers that do not belong to the cluster: while the
// node's own API server does not run, any program on the host's network can listen on its port, and would be the first upstream.
type Prober struct {
	cas  atomic.Pointer[x509.CertPool]
	name atomic.Pointer[string]
}

// Trust sets the authorities (PEM) that sign API servers; without any, all servers are accepted.
func (p *Prober) Trust(authorities []byte) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authorities) {
		pool = nil
	}

	p.cas.Store(pool)
}

// Expect sets the name that API servers must have in their certificates; with "", any name is accepted.
func (p *Prober) Expect(name string) { p.name.Store(&name) }

// Readyz asks an API server whether it is ready. It calls answered after the handshake, since the answer may take longer. A server that refuses
// unauthenticated clients counts as ready.
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

	client := &http.Client{
		Timeout: 2 * dialTimeout,
		Transport: &http.Transport{
			DisableKeepAlives:   true,
			DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout: dialTimeout,
			TLSClientConfig: &tls.Config{
				InsecureSkipVerify: true, // verify does
				MinVersion:         tls.VersionTLS12, VerifyConnection: p.verify, ServerName: p.expected(),
			},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}

	response, err := client.Do(request)
	if err != nil {
		if own := (*url.Error)(nil); errors.As(err, &own) && !own.Timeout() {
			return own.Err // without the URL, which the reader knows
		}

		return err
	}

	response.Body.Close() // the body is not read

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
