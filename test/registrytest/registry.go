// SPDX-License-Identifier: Apache-2.0

// Package registrytest is a private container registry for tests. It is a real one, behind TLS with an authority of its own, and requires the
// login that a test asks for. A proxy leads to it that listens where the test needs it, such as in the network of a machine of a lab. Both run in
// the process of the test, and serve images that it makes.
package registrytest

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/seed-59268b81/talos/pki"
)

const (
	// Name is a name of the registry in its certificate, beside its address. No DNS server knows it.
	Name = "registry.test"
	// User and Password are the login.
	User, Password = "robot", "correct horse"
	// RefreshToken is the identity token for which the server of tokens grants access.
	RefreshToken = "refresh-me"
	accessToken  = "granted"
	// Elsewhere is the path of the registry's API beside /v2.
	Elsewhere = "/mirrors/all"
)

// lifetime of certificates is longer than any test.
const lifetime = 24 * time.Hour

// Registry is a registry on the loopback.
type Registry struct {
	// Host is the address on 127.0.0.1, with the port; Port is the port alone.
	Host, Port string
	// CA is the authority of the registry's certificate. Client is a certificate from it for machines.
	CA     *pki.CA
	Client pki.Pair

	content http.Handler // without a login

	mu    sync.Mutex
	asked int
}

// Access is what the registry requires.
type Access struct{ Password, Token, Certificate bool }

var silent = log.New(io.Discard, "", 0)

// Start runs a registry without images until the test ends.
func Start(tb testing.TB, requires Access) *Registry {
	tb.Helper()

	r := &Registry{content: registry.New(registry.Logger(silent))}

	settings, err := r.identify(requires)
	if err != nil {
		tb.Fatal(err)
	}

	server := httptest.NewUnstartedServer(r.guard(requires))
	server.Config.ErrorLog = silent // clients that do not trust it
	server.TLS = settings
	r.Host = server.Listener.Addr().String()
	_, r.Port, _ = net.SplitHostPort(r.Host)

	server.StartTLS()
	tb.Cleanup(server.Close)

	return r
}

// identify creates the authority and the certificates.
func (r *Registry) identify(requires Access) (*tls.Config, error) {
	var err error

	if r.CA, err = pki.NewCA(pki.CAOptions{Kind: pki.ECDSAP256, CommonName: "company"}); err != nil {
		return nil, err
	}

	if r.Client, err = r.CA.Sign(pki.LeafOptions{CommonName: "machine", Client: true, TTL: lifetime}); err != nil {
		return nil, err
	}

	signed, err := r.CA.Sign(pki.LeafOptions{
		CommonName: "registry", Server: true, TTL: lifetime, DNSNames: []string{Name}, IPs: []netip.Addr{netip.MustParseAddr("127.0.0.1")},
	})
	if err != nil {
		return nil, err
	}

	certificate, err := signed.TLS()
	if err != nil {
		return nil, err
	}

	settings := &tls.Config{Certificates: []tls.Certificate{certificate}}
	if !requires.Certificate {
		return settings, nil
	}

	settings.ClientAuth = tls.RequireAndVerifyClientCert
	settings.ClientCAs, err = pki.Pool(r.CA.PEM.Crt)

	return settings, err
}

// Asked returns how many requests the registry has had.
func (r *Registry) Asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.asked
}

// guard requires a login, and serves the API below another path too.
func (r *Registry) guard(requires Access) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.asked++
		r.mu.Unlock()

		if rest, ok := strings.CutPrefix(q.URL.Path, Elsewhere); ok {
			q.URL.Path = "/v2" + rest
		}

		user, password, _ := q.BasicAuth()

		switch {
		case q.URL.Path == "/token":
			grant(w, q)
		case requires.Token && q.Header.Get("Authorization") != "Bearer "+accessToken:
			w.Header().Set("WWW-Authenticate", `Bearer realm="https://`+r.Host+`/token",service="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
		case requires.Password && (user != User || password != Password):
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			r.content.ServeHTTP(w, q)
		}
	})
}

// grant is the server of tokens: it wants the refresh token, as an identity token is one.
func grant(w http.ResponseWriter, q *http.Request) {
	if q.PostFormValue("refresh_token") != RefreshToken {
		w.WriteHeader(http.StatusUnauthorized)

		return
	}

	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"access_token": "`+accessToken+`", "expires_in": 300}`)
}
