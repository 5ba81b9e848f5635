// SPDX-License-Identifier: Apache-2.0

//go:build linux

package etcd

import (
	"context"
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

// probed returns a probe, and a server with etcd's certificates in the place of etcd.
func probed(t *testing.T, handler http.HandlerFunc) (p *probe, url string, use func(name string)) {
	t.Helper()

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

	s := httptest.NewUnstartedServer(handler)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13}
	s.StartTLS()
	t.Cleanup(s.Close)

	p = &probe{}
	t.Cleanup(func() {
		if client := p.client.Load(); client != nil {
			client.CloseIdleConnections()
		}
	})

	use = func(name string) {
		t.Helper()

		admin := secrets.CertAndKey(sign(pki.LeafOptions{CommonName: name, Client: true, TTL: time.Hour}))
		if err := p.use(secrets.EtcdRootSpec{EtcdCA: secrets.CertAndKey{Crt: ca.PEM.Crt}}, secrets.EtcdCertsSpec{EtcdAdmin: admin}); err != nil {
			t.Fatal(err)
		}
	}

	return p, s.URL, use
}

// TestProbe: a check that runs on uses the certificates that replace those with which it began.
func TestProbe(t *testing.T) {
	answer := `{"health": "true"}`
	clients := []string{}

	p, url, use := probed(t, func(w http.ResponseWriter, r *http.Request) {
		clients = append(clients, r.TLS.PeerCertificates[0].Subject.CommonName)
		_, _ = w.Write([]byte(answer)) // the client waits for it
	})

	var joining atomic.Bool

	use("first")

	check := p.check(url, &joining)
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
}

// TestLive: only an etcd that gives no answer counts as hung.
func TestLive(t *testing.T) {
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	says := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text)) // the client waits for it
		}
	}

	const noLeader = `{"health":"false","reason":"RAFT NO LEADER"}`

	for _, tt := range []struct {
		name                    string
		livez, metrics          http.HandlerFunc
		noConnection, badClient bool
		live                    bool
	}{
		{name: "works", livez: says(http.StatusOK, "ok\n"), metrics: hangs, live: true},
		{name: "the read is refused", livez: says(http.StatusServiceUnavailable, "[-]serializable_read failed: etcdserver: corrupt cluster"), metrics: hangs, live: true},
		{name: "hangs", livez: hangs, metrics: hangs},
		{name: "its database hangs", livez: hangs, metrics: says(http.StatusOK, "etcd_disk_defrag_inflight 0\netcd_disk_defrag_inflight_x 1\n")},
		{name: "its database is being defragmented", livez: hangs, metrics: says(http.StatusOK, "a 1\netcd_disk_defrag_inflight 1\nb 1\n"), live: true},
		{name: "it does not listen", livez: hangs, metrics: hangs, noConnection: true},
		{name: "it refuses the certificate", livez: hangs, metrics: hangs, badClient: true, live: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc("/health", says(http.StatusServiceUnavailable, noLeader))
			mux.HandleFunc("/livez", tt.livez)
			mux.HandleFunc("/metrics", tt.metrics)

			p, url, use := probed(t, mux.ServeHTTP)
			use("etcd")

			if tt.badClient {
				_, url, _ = probed(t, mux.ServeHTTP) // of another authority
			}

			if tt.noConnection {
				url = "https://127.0.0.1:1"
			}

			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()

			if err := p.live(url)(ctx); (err == nil) != tt.live {
				t.Errorf("got %v, want live %t", err, tt.live)
			}

			if err := p.check(url+"/health", new(atomic.Bool))(t.Context()); err == nil {
				t.Error("it is healthy without a leader")
			}
		})
	}
}
