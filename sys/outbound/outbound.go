// SPDX-License-Identifier: Apache-2.0

// Package outbound makes requests to servers outside of the cluster as the machine configuration says: through the proxies in the environment
// of this process, and with the authorities that the machine trusts now. The clients of net/http cannot follow a changed configuration: they
// read both only once.
package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"

	"golang.org/x/net/http/httpproxy"
)

// Proxy returns the proxy of a request, or nil. It is for http.Transport.
func Proxy(r *http.Request) (*url.URL, error) {
	return httpproxy.FromEnvironment().ProxyFunc()(r.URL)
}

// Roots returns the authorities in a file, such as layout.CABundle. Without that file it is nil: those of the system.
func Roots(bundle string) (*x509.CertPool, error) {
	text, err := os.ReadFile(bundle)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, fmt.Errorf("read the trusted authorities: %w", err)
	}

	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the trusted authorities: %s has no certificate", bundle)
	}

	return roots, nil
}

// Client returns a client that trusts the authorities in a file, as Roots does. Close its idle connections afterwards.
func Client(bundle string) (*http.Client, error) {
	transport, err := transport(bundle)
	if err != nil {
		return nil, err
	}

	return &http.Client{Transport: transport}, nil
}

// Transport makes a connection for each request, with the proxies of that time and the authorities that the file Bundle has then. It is for
// clients that live longer than a configuration, and has no idle connections.
type Transport struct {
	Bundle string
	// Dial connects; with nil, package net does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	once, err := transport(t.Bundle)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}

		return nil, err
	}

	once.DisableKeepAlives = true

	if t.Dial != nil {
		once.DialContext = t.Dial
	}

	return once.RoundTrip(r)
}

// maxHeaders is the size limit of the headers of an answer, in bytes: another computer decides how large they are.
const maxHeaders = 64 << 10

func transport(bundle string) (*http.Transport, error) {
	roots, err := Roots(bundle)
	if err != nil {
		return nil, err
	}

	out := http.DefaultTransport.(*http.Transport).Clone()
	out.Proxy, out.MaxResponseHeaderBytes = Proxy, maxHeaders
	out.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}

	return out, nil
}
