// SPDX-License-Identifier: Apache-2.0

// Package outbound makes requests to servers outside of the cluster as the machine configuration says: through the proxies in the environment
// of this process, and with the authorities that the machine trusts now. The clients of net/http cannot follow a changed configuration: they
// read both only once.
package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"

	"golang.org/x/net/http/httpproxy"
)

// Proxy returns the proxy of a request, or nil. It is for http.Transport.
func Proxy(r *http.Request) (*url.URL, error) {
	return httpproxy.FromEnvironment().ProxyFunc()(r.URL)
}

// Client returns a client that trusts the authorities in a file, such as layout.CABundle, or those of the system without that file. Close its
// idle connections afterwards.
func Client(bundle string) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = Proxy
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}

	text, err := os.ReadFile(bundle)

	switch {
	case err == nil:
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("read the trusted authorities: %s has no certificate", bundle)
		}

		transport.TLSClientConfig.RootCAs = roots
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read the trusted authorities: %w", err)
	}

	return &http.Client{Transport: transport}, nil
}
