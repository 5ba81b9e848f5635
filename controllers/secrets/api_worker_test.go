// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/secrets/trust"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// controlPlane signs like trustd, or fails.
type controlPlane struct {
	ca *pki.CA

	mu      sync.Mutex
	asked   []trust.Request
	failure error
}

func (c *controlPlane) certificate(_ context.Context, r trust.Request) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.asked = append(c.asked, r)

	if c.failure != nil {
		return nil, c.failure
	}

	return c.ca.SignCSR(r.CSR, pki.LeafOptions{Server: true, TTL: 24 * time.Hour})
}

// fail sets the error of the next requests, and returns the number of earlier ones.
func (c *controlPlane) fail(err error) int {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.failure = err

	return len(c.asked)
}

func (c *controlPlane) signWith(ca *pki.CA) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.ca = ca
}

func (c *controlPlane) last() trust.Request {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.asked[len(c.asked)-1]
}

// TestWorkerAPI follows a worker's certificate in faked time: first request, renewal, a change of names and of authorities.
func TestWorkerAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, next := newCA(t, pki.Ed25519), newCA(t, pki.Ed25519) // of the faked time
		ctx, cancel := context.WithCancel(t.Context())
		cp := &controlPlane{ca: ca}
		state := memory.New()
		rt := runtime.New(state, slog.New(slog.DiscardHandler))

		if err := rt.RegisterController(apiController(cp.certificate)); err != nil {
			t.Fatal(err)
		}

		done := make(chan error, x509.ExtKeyUsageServerAuth)
		go func() { done <- rt.Run(ctx) }()

		root := secrets.OSRootSpec{
			IssuingCA: secrets.CertAndKey{Crt: ca.PEM.Crt}, AcceptedCAs: []secrets.Cert{{Crt: ca.PEM.Crt}}, Token: "abcdef.x",
		}
		names := func(dns ...string) secrets.CertSANSpec {
			return secrets.CertSANSpec{FQDN: dns[0], DNSNames: dns, IPs: []netip.Addr{netip.MustParseAddr("10.5.0.3")}}
		}
		held := func() secrets.APICertsSpec {
			synctest.Wait()

			certs, err := typed.Find[secrets.APICertsSpec](ctx, state, "", secrets.APIID)
			if err != nil {
				t.Fatal(err)
			}

			if certs == nil {
				return secrets.APICertsSpec{}
			}

			return *certs.TypedSpec()
		}

		// Maintenance, then a configuration while no control plane is up: clients without a certificate are refused.
		put(t, state, secrets.MaintenanceRootID, secrets.MaintenanceRootSpec{CA: pairOf(newCA(t, pki.Ed25519))})
		put(t, state, secrets.CertSANMaintenanceID, names("maintenance"))

		if !held().SkipVerifyingClientCert {
			t.Fatal("without a configuration: want maintenance")
		}

		cp.fail(errors.New("trustd at 10.5.0.2:50001: connection refused"))
		put(t, state, secrets.CertSANAPIID, names("w1"))
		put(t, state, secrets.OSRootID, root)

		if got := held(); !got.Server.Empty() || got.SkipVerifyingClientCert {
			t.Error("with a configuration, and no control plane: want no certificate")
		}

		time.Sleep(10 * time.Minute)

		tries := cp.fail(nil)
		if tries < 8 || tries > 60 {
			t.Errorf("in ten minutes: got %d requests, want some, ever further apart", tries)
		}

		put(t, state, k8s.EndpointControlPlane, k8s.EndpointSpec{Addresses: []netip.Addr{netip.MustParseAddr("10.5.0.2")}, Hosts: []string{"cp"}})
		time.Sleep(time.Second)

		first := held()
		verify(t, first.Server, ca, "10.5.0.3", x509.ExtKeyUsageServerAuth)

		request := cp.last()
		if diff := cmp.Diff([]string{"abcdef.x", "cp", "10.5.0.2"}, []string{request.Token, strings.Join(request.Hosts, " "), request.Addresses[0].String()}); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}

		if !first.Client.Empty() || len(first.AcceptedCAs) != 1 {
			t.Errorf("got %+v, want no client certificate", first)
		}

		time.Sleep(11 * time.Hour)

		if !held().Server.Equal(first.Server) {
			t.Error("after 11 of 24 hours: got a new certificate, want the same")
		}

		// At half of its life no control plane answers; the certificate is kept until one does.
		cp.fail(errors.New("no"))
		time.Sleep(4 * time.Hour)

		if !held().Server.Equal(first.Server) {
			t.Error("with no control plane: want the certificate kept")
		}

		cp.fail(nil)
		time.Sleep(2 * time.Minute)

		second := held()
		if second.Server.Equal(first.Server) {
			t.Error("after half of its life: got the same certificate, want a new one")
		}

		// A second authority is accepted at once, also while no control plane answers.
		count := cp.fail(errors.New("no"))
		root.AcceptedCAs = append(root.AcceptedCAs, secrets.Cert{Crt: next.PEM.Crt})
		put(t, state, secrets.OSRootID, root)

		if got := held(); len(got.AcceptedCAs) != 2 || !got.Server.Equal(second.Server) {
			t.Errorf("got %d accepted authorities, want 2 and the certificate of before", len(got.AcceptedCAs))
		}

		cp.signWith(next)
		cp.fail(nil)
		time.Sleep(2 * time.Minute)

		third := held()
		verify(t, third.Server, next, "w1", x509.ExtKeyUsageServerAuth)

		if cp.fail(nil) == count {
			t.Error("a new authority: want a new certificate asked for")
		}

		// The answer of trustd is checked.
		cp.signWith(newCA(t, pki.Ed25519))

		put(t, state, secrets.CertSANAPIID, names("w2"))
		time.Sleep(10 * time.Minute)

		if !held().Server.Equal(third.Server) {
			t.Error("got a certificate of an authority that is not accepted")
		}

		cp.signWith(next)
		time.Sleep(2 * time.Minute)
		verify(t, held().Server, next, "w2", x509.ExtKeyUsageServerAuth)

		quiet := cp.fail(nil)
		put(t, state, k8s.EndpointAPIServerID, k8s.EndpointSpec{Addresses: []netip.Addr{netip.MustParseAddr("10.5.0.4")}})
		time.Sleep(time.Hour)

		if got := cp.fail(nil); got != quiet {
			t.Errorf("nothing changed for the certificate: got %d requests, want none", got-quiet)
		}

		cancel()

		if err := <-done; err != nil {
			t.Error(err)
		}

		time.Sleep(recheck)
	})
}

func put[S resource.Spec](t *testing.T, state *memory.State, id string, spec S) {
	t.Helper()

	if err := typed.Set(context.Background(), state, "", id, spec); err != nil {
		t.Fatal(err)
	}
}

// TestRenewWorkerSpreads holds that workers do not all send requests at once, and none too late.
func TestRenewWorkerSpreads(t *testing.T) {
	ca := newCA(t, pki.Ed25519)
	seen := map[time.Duration]bool{}

	for range 20 {
		pair, err := ca.Sign(pki.LeafOptions{CommonName: "w", Server: true, TTL: 24 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}

		cert, err := pki.ParseCertificate(pair.Crt)
		if err != nil {
			t.Fatal(err)
		}

		late := renewWorker(cert).Sub(pki.RenewAt(cert))
		if late < 0 || late > 73*time.Minute {
			t.Errorf("got %s after half of its life, want at most a twentieth of a day", late)
		}

		seen[late] = true
	}

	if len(seen) < 10 {
		t.Errorf("20 certificates are renewed at %d times, want many", len(seen))
	}
}
