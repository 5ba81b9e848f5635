// SPDX-License-Identifier: Apache-2.0

//go:build linux

package etcd

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// TestProbe: a check that runs on uses the certificates that replace those with which it began.
func TestProbe(t *testing.T) {
	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.ECDSAP256})
	if err != nil {
		t.Fatal(err)
	}

	sign := func(options pki.LeafOptions) pki.Pair {
		t.Helper()

		pair, err := ca.Sign(options)
		if err != nil {
			t.Fatal(err)
		}

		return pair
	}

	server, err := sign(pki.LeafOptions{Server: true, TTL: time.Hour, IPs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}).TLS()
	if err != nil {
		t.Fatal(err)
	}

	answer := `{"health": "true"}`
	clients := []string{}

	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		clients = append(clients, r.TLS.PeerCertificates[0].Subject.CommonName)
		_, _ = w.Write([]byte(answer)) // the client waits for it
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13}
	s.StartTLS()
	t.Cleanup(s.Close)

	var (
		p       probe
		joining atomic.Bool
	)

	root := secrets.EtcdRootSpec{EtcdCA: secrets.CertAndKey{Crt: ca.PEM.Crt}}

	use := func(name string) {
		t.Helper()

		if err := p.use(root, secrets.EtcdCertsSpec{EtcdAdmin: secrets.CertAndKey(sign(pki.LeafOptions{CommonName: name, Client: true, TTL: time.Hour}))}); err != nil {
			t.Fatal(err)
		}
	}

	use("first")

	check := p.check(s.URL, &joining)
	if err := check(t.Context()); err != nil {
		t.Error(err)
	}

	use("second")

	if err := check(t.Context()); err != nil {
		t.Error(err)
	}

	if got := strings.Join(clients, " "); got != "first second" {
		t.Errorf("the certificates of the client: got %q", got)
	}

	joining.Store(true)

	if err := check(t.Context()); err != errJoining {
		t.Errorf("a member that joins: got %v", err)
	}

	answer = `{"health": "false", "reason": "no leader"}`

	if err := check(t.Context()); err == nil || !strings.Contains(err.Error(), "no leader") {
		t.Errorf("without a leader: got %v", err)
	}

	p.client.Load().CloseIdleConnections()
}
