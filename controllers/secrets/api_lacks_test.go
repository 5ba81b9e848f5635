// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/controllers/secrets/trust"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// grudging signs like a trustd that leaves names out, or fails.
type grudging struct {
	ca *pki.CA

	mu      sync.Mutex
	granted []string
	failure error
	asked   int
}

func (g *grudging) certificate(_ context.Context, r trust.Request) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.asked++

	csr, err := pki.ParseCSR(r.CSR)
	if err = errors.Join(err, g.failure); err != nil {
		return nil, err
	}

	return g.ca.SignPublicKey(csr.PublicKey, pki.LeafOptions{CommonName: "w1", DNSNames: g.granted, Server: true, TTL: 24 * time.Hour})
}

// grant sets what is granted, or why nothing is, and returns the number of the requests before.
func (g *grudging) grant(failure error, names ...string) int {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.granted, g.failure = names, failure

	return g.asked
}

// TestIncompleteCertificate: a certificate that lacks a name is asked for again, ever later, and replaced by one that lacks less.
func TestIncompleteCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newCA(t, pki.Ed25519) // of the faked time
		ctx, cancel := context.WithCancel(t.Context())
		cp := &grudging{ca: ca}
		state := memory.New()
		rt := runtime.New(state, slog.New(slog.DiscardHandler))

		if err := rt.RegisterController(apiController(cp.certificate)); err != nil {
			t.Fatal(err)
		}

		done := make(chan error, 1)
		go func() { done <- rt.Run(ctx) }()

		version := func() uint64 {
			synctest.Wait()

			certs, err := typed.Get[secrets.APICertsSpec](ctx, state, "", secrets.APIID)
			if err != nil {
				t.Fatal(err)
			}

			return certs.Metadata().Version()
		}

		cp.grant(nil, "w1")
		put(t, state, k8s.EndpointControlPlane, k8s.EndpointSpec{Addresses: []netip.Addr{netip.MustParseAddr("10.5.0.2")}})
		put(t, state, secrets.CertSANAPIID, secrets.CertSANSpec{FQDN: "w1", DNSNames: []string{"w1", "w1.example.org"}})
		put(t, state, secrets.OSRootID, secrets.OSRootSpec{
			IssuingCA: secrets.CertAndKey{Crt: ca.PEM.Crt}, AcceptedCAs: []secrets.Cert{{Crt: ca.PEM.Crt}}, Token: "abcdef.x",
		})

		first := version()

		time.Sleep(8 * time.Hour)

		if got := cp.grant(errors.New("no answer")); got < 8 || got > 20 {
			t.Errorf("in eight hours: got %d requests, want some, ever further apart", got)
		}

		time.Sleep(3 * time.Hour)

		if got := version(); got != first {
			t.Errorf("got version %d, want %d: no better certificate came", got, first)
		}

		cp.grant(nil, "w1", "w1.example.org")
		time.Sleep(lackLimit + time.Second)

		if version() == first {
			t.Error("got the certificate that lacks a name, want the complete one")
		}

		before := cp.grant(nil, "w1", "w1.example.org")

		time.Sleep(11 * time.Hour)

		if got := cp.grant(nil, "w1", "w1.example.org"); got != before {
			t.Errorf("got %d requests for a complete certificate, want none", got-before)
		}

		cancel()

		if err := <-done; err != nil {
			t.Error(err)
		}

		time.Sleep(recheck)
	})
}
