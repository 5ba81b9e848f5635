// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kubeprism_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/kubeprism"
)

func TestReadyz(t *testing.T) {
	for status, want := range map[int]bool{
		http.StatusOK: true, http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusFound: true,
		http.StatusInternalServerError: false, http.StatusServiceUnavailable: false,
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://192.0.2.1/")
			w.WriteHeader(status)
		}))
		answered := false

		err := kubeprism.Readyz(t.Context(), strings.TrimPrefix(server.URL, "https://"), func() { answered = true })
		if (err == nil) != want || !answered {
			t.Errorf("status %d: got %v, answered %t; ready: want %t", status, err, answered, want)
		}

		server.Close()
	}

	err := kubeprism.Readyz(t.Context(), freeAddress(t), func() { t.Error("nobody listens: got an answer") })
	if op, ok := err.(*net.OpError); !ok || op.Op != "dial" {
		t.Errorf("nobody listens: got %v, want what the dial said", err)
	}
}

// TestLeavesUnready holds that an API server that takes connections and is not ready is left, also by those who are connected, but
// only for one that is.
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

	// ask has all upstreams asked, until so many are ready.
	ask := func(ready int) {
		within(t, 5*time.Second, "the upstreams are asked", func() bool {
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
		t.Errorf("the local one is ready again: got %q, want it", name)
	}
}
