// SPDX-License-Identifier: Apache-2.0

package kubeprism_test

import (
	"context"
	"io"
	"log/slog"
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
		http.StatusOK: true, http.StatusUnauthorized: true, http.StatusForbidden: true,
		http.StatusInternalServerError: false, http.StatusServiceUnavailable: false,
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))

		if err := kubeprism.Readyz(t.Context(), strings.TrimPrefix(server.URL, "https://")); (err == nil) != want {
			t.Errorf("status %d: got %v, ready: want %t", status, err, want)
		}

		server.Close()
	}
}

// holder takes connections and keeps them open.
func holder(t *testing.T, name string) string {
	t.Helper()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}

			_, _ = conn.Write([]byte(name))

			go func() { _, _ = io.Copy(io.Discard, conn); _ = conn.Close() }()
		}
	}()

	t.Cleanup(func() { _ = listener.Close() })

	return listener.Addr().String()
}

// TestLeavesUnready holds that an API server that takes connections and is not ready is left, also by those who are connected, but
// only for one that is.
func TestLeavesUnready(t *testing.T) {
	local, other := holder(t, "local"), holder(t, "other")

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	var (
		localDown, otherDown atomic.Bool
		balancer             kubeprism.Balancer
	)

	balancer.SetUpstreams([]kubeprism.Upstream{{Address: local, Local: true}, {Address: other}})
	balancer.Ready = func(_ context.Context, address string) error {
		if address == local && localDown.Load() || address == other && otherDown.Load() {
			return io.ErrUnexpectedEOF
		}

		return nil
	}

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)

	go func() { done <- balancer.Serve(ctx, listener, slog.New(slog.DiscardHandler)) }()

	connect := func() (net.Conn, string) {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}

		name := make([]byte, 5)
		if _, err := io.ReadFull(conn, name); err != nil {
			t.Fatal(err)
		}

		return conn, string(name)
	}

	// check looks at all upstreams once.
	check := func() {
		once, stop := context.WithCancel(ctx)
		looked := make(chan struct{})

		go func() { balancer.Check(once, func() {}, slog.New(slog.DiscardHandler)); close(looked) }()
		time.Sleep(100 * time.Millisecond)
		stop()
		<-looked
	}

	closed := func(conn net.Conn) bool {
		_ = conn.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		_, err := conn.Read(make([]byte, 1))
		netErr, ok := err.(net.Error)

		return err != nil && !(ok && netErr.Timeout())
	}

	held, name := connect()
	if name != "local" {
		t.Fatalf("all are ready: got %q, want the preferred one", name)
	}

	localDown.Store(true)
	otherDown.Store(true)
	check()

	if closed(held) {
		t.Error("none is ready: the connection was closed, want it kept")
	}

	otherDown.Store(false)
	check()

	if !closed(held) {
		t.Error("another is ready: the connection is open, want it closed")
	}

	conn, name := connect()
	if name != "other" {
		t.Errorf("the local one is not ready: got %q, want the other", name)
	}

	_ = conn.Close()

	localDown.Store(false)
	check()

	if conn, name = connect(); name != "local" {
		t.Errorf("the local one is ready again: got %q, want it", name)
	}

	_ = conn.Close()
	_ = held.Close()

	cancel()

	if err := <-done; err != nil {
		t.Errorf("serve: got %v", err)
	}
}
