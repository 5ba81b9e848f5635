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

// dialTimeout of a connection, and of its handshake.
const dialTimeout = 5 * time.Second

// Prober asks API servers over connections of its own. The zero value takes every server for one.
//
// Those who connect through the balancer look at certificates for themselves. Here they show who is none of the cluster's API servers: on the
// host's network anybody may take the port of the node's own one while it is away, and would be asked first.
type Prober struct{ cas atomic.Pointer[x509.CertPool] }

// Trust says which authorities (PEM) sign API servers; none is all.
func (p *Prober) Trust(authorities []byte) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authorities) {
		pool = nil
	}

	p.cas.Store(pool)
}

// Readyz asks an API server whether it is ready, and calls answered after the handshake: what makes it ready may take longer. One that
// answers only those whom it knows counts as ready.
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
				MinVersion:         tls.VersionTLS12, VerifyConnection: p.verify,
			},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}

	response, err := client.Do(request)
	if err != nil {
		if own := (*url.Error)(nil); errors.As(err, &own) && !own.Timeout() {
			return own.Err // who reads it knows what was asked
		}

		return err
	}

	response.Body.Close() // nothing of it is read

	if response.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("the API server is not ready: status %s", response.Status)
	}

	return nil
}

// verify looks only at who signed: names are as many as ways to an API server, and a clock that is wrong does not make it another's.
func (p *Prober) verify(state tls.ConnectionState) error {
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
