// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kubeprism_test

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/kubeprism"
	"github.com/seed-59268b81/talos/pki"
)

func TestReadyz(t *testing.T) {
	for status, want := range map[int]bool{
		http.StatusOK: true, http.StatusUnauthorized: true, http.StatusForbidden: false, http.StatusFound: true,
		http.StatusInternalServerError: false, http.StatusServiceUnavailable: false,
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://192.0.2.1/")
			w.WriteHeader(status)
		}))
		answered := false

		var prober kubeprism.Prober

		err := prober.Readyz(t.Context(), strings.TrimPrefix(server.URL, "https://"), func() { answered = true })
		prober.Close()

		if (err == nil) != want || !answered {
			t.Errorf("status %d: got %v, answered %t; ready: want %t", status, err, answered, want)
		}

		server.Close()
	}

	err := new(kubeprism.Prober).Readyz(t.Context(), freeAddress(t), func() { t.Error("no listener: got an answer") })
	if op, ok := err.(*net.OpError); !ok || op.Op != "dial" {
		t.Errorf("no listener: got %v, want the error of the dial", err)
	}
}

// TestTrust checks that a server without a certificate of the cluster does not count as an API server.
func TestTrust(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)

	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})

	other, err := pki.NewCA(pki.CAOptions{Kind: pki.ECDSAP256, Organization: []string{"other"}})
	if err != nil {
		t.Fatal(err)
	}

	for name, test := range map[string]struct {
		trusted [][]byte
		want    bool
	}{
		"an authority that signed it":      {[][]byte{other.PEM.Crt, own}, true},
		"another authority":                {[][]byte{other.PEM.Crt}, false},
		"no authority is known":            {nil, true},
		"a text that is not a certificate": {[][]byte{[]byte("garbage")}, true},
	} {
		var prober kubeprism.Prober

		prober.Trust(slices.Concat(test.trusted...))

		answered := false

		err := prober.Readyz(t.Context(), strings.TrimPrefix(server.URL, "https://"), func() { answered = true })
		if (err == nil) != test.want || answered != test.want {
			t.Errorf("%s: got %v, answered %t, want %t", name, err, answered, test.want)
		}
	}
}

// TestLeavesUnready checks that connections to an API server that is not ready are closed, and new ones go to another, but only if the other is
// ready.
func TestLeavesUnready(t *testing.T) {
	local, other := serve(t, "local"), serve(t, "other")

	var localDown, otherDown atomic.Bool

	balancer := kubeprism.Balancer{Probe: func(_ context.Context, address string, answered func()) error {
		answered()

		if address == local.address && localDown.Load() || address == other.address && otherDown.Load() {
			return io.ErrUnexpectedEOF
		}

		return nil
	}}

	balancer.SetUpstreams([]kubeprism.Upstream{{Address: local.address, Local: true}, {Address: other.address}})
	address := start(t, &balancer)

	// ask triggers probes of all upstreams, until so many are ready.
	ask := func(ready int) {
		within(t, 5*time.Second, "the upstreams are probed", func() bool {
			balancer.Kick(local.address)
			balancer.Kick(other.address)

			return balancer.Ready() == ready
		})
	}

	ask(2)
	within(t, 5*time.Second, "the port opens", func() bool { return !refused(address) })

	held, name := connect(t, address, 5)
	if name != "local" {
		t.Fatalf("all are ready: got %q, want the preferred one", name)
	}

	localDown.Store(true)
	otherDown.Store(true)
	ask(0)

	if closed(held, 500*time.Millisecond) {
		t.Error("none is ready: the connection was closed, want it kept")
	}

	otherDown.Store(false)
	ask(1)

	if !closed(held, 5*time.Second) {
		t.Error("another is ready: the connection is open, want it closed")
	}

	if _, name := connect(t, address, 5); name != "other" {
		t.Errorf("the local one is not ready: got %q, want the other", name)
	}

	localDown.Store(false)
	ask(2)

	if _, name = connect(t, address, 5); name != "local" {
		t.Errorf("the local one is ready again: got %q, want this one", name)
	}
}

// TestExpect checks that an API server counts only if its certificate has the expected name.
func TestExpect(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS() // its certificate is for example.com and 127.0.0.1
	t.Cleanup(server.Close)

	var prober kubeprism.Prober

	for _, step := range []struct {
		name string
		want bool
	}{{"", true}, {"example.com", true}, {"other.example", false}, {"", true}} {
		prober.Expect(step.name)

		err := prober.Readyz(t.Context(), strings.TrimPrefix(server.URL, "https://"), func() {})
		if (err == nil) != step.want {
			t.Errorf("name %q: got %v, want it accepted: %t", step.name, err, step.want)
		}
	}
}
