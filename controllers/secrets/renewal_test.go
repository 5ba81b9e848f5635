// SPDX-License-Identifier: Apache-2.0

package secrets_test

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/controllers/secrets"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/network"
	secretsres "github.com/seed-59268b81/talos/resources/secrets"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// TestRenewal holds, in faked time, that certificates are replaced at half of their life and not before, and those of the cluster only
// once the clock is set.
func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		state := memory.New()
		rt := runtime.New(state, slog.New(slog.DiscardHandler))

		for _, c := range secrets.Controllers() {
			if err := rt.RegisterController(c); err != nil {
				t.Fatal(err)
			}
		}

		done := make(chan error, 1)
		go func() { done <- rt.Run(ctx) }()

		ca := func(kind pki.KeyKind) secretsres.CertAndKey {
			made, err := pki.NewCA(pki.CAOptions{Kind: kind, Organization: []string{"test"}})
			if err != nil {
				t.Fatal(err)
			}

			return secretsres.CertAndKey{Crt: made.PEM.Crt, Key: made.PEM.Key}
		}

		apiCA, kubernetesCA := ca(pki.Ed25519), ca(pki.ECDSAP256)

		set(t, state, network.HostnameID, network.HostnameStatusSpec{Hostname: "cp1"})
		set(t, state, network.NodeAddressAccumulativeID, network.NodeAddressSpec{Addresses: []netip.Prefix{netip.MustParsePrefix("172.20.0.2/24")}})
		set(t, state, secretsres.OSRootID, secretsres.OSRootSpec{IssuingCA: apiCA, AcceptedCAs: []secretsres.Cert{{Crt: apiCA.Crt}}})
		set(t, state, secretsres.KubernetesRootID, secretsres.KubernetesRootSpec{
			Name: "x", Endpoint: secretsres.URL{FullPath: "https://x:6443"}, LocalEndpoint: secretsres.URL{FullPath: "https://127.0.0.1:6443"},
			IssuingCA: kubernetesCA, AggregatorCA: kubernetesCA, AcceptedCAs: []secretsres.Cert{{Crt: kubernetesCA.Crt}},
		})
		synctest.Wait()

		api := func() string { return string(get[secretsres.APICertsSpec](t, state, secretsres.APIID).Server.Crt) }

		if res, err := typed.Find[secretsres.KubernetesDynamicCertsSpec](ctx, state, "", secretsres.KubernetesDynamicID); err != nil || res != nil {
			t.Errorf("before the clock is set: got the API server's certificates (%v), want none", err)
		}

		first := api()

		set(t, state, timeres.StatusID, timeres.StatusSpec{Synced: true})
		synctest.Wait()

		dynamic := func() string {
			return string(get[secretsres.KubernetesDynamicCertsSpec](t, state, secretsres.KubernetesDynamicID).APIServer.Crt)
		}
		firstDynamic := dynamic()

		time.Sleep(11 * time.Hour)
		synctest.Wait()

		if api() != first {
			t.Error("after 11 of 24 hours: got a new API certificate, want the same")
		}

		time.Sleep(90 * time.Minute)
		synctest.Wait()

		second := api()
		if second == first {
			t.Error("after 12.5 of 24 hours: got the same API certificate, want a new one")
		}

		if dynamic() != firstDynamic {
			t.Error("after 12.5 hours: got a new certificate of the API server, want the same")
		}

		time.Sleep(183 * 24 * time.Hour)
		synctest.Wait()

		if dynamic() == firstDynamic {
			t.Error("after half a year: got the same certificate of the API server, want a new one")
		}

		cancel()

		if err := <-done; err != nil {
			t.Error(err)
		}

		// Timers that are still set only wake controllers that have ended.
		time.Sleep(2 * time.Hour)
	})
}

func set[S resource.Spec](t *testing.T, state *memory.State, id string, spec S) {
	t.Helper()

	if err := typed.Set(context.Background(), state, "", id, spec); err != nil {
		t.Fatal(err)
	}
}

func get[S resource.Spec](t *testing.T, state *memory.State, id string) S {
	t.Helper()

	res, err := typed.Get[S](context.Background(), state, "", id)
	if err != nil {
		t.Fatal(err)
	}

	return *res.TypedSpec()
}
