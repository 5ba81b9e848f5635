// SPDX-License-Identifier: Apache-2.0

package kubeprism_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/seed-59268b81/talos/controllers/k8s/kubeprism"
)

// upstream answers every connection with its name.
func upstream(t *testing.T, name string) (address string, stop func()) {
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
			_ = conn.Close()
		}
	}()

	t.Cleanup(func() { _ = listener.Close() })

	return listener.Addr().String(), func() { _ = listener.Close() }
}

func ask(t *testing.T, address string) string {
	t.Helper()

	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	answer, _ := io.ReadAll(conn)

	return string(answer)
}

func TestBalancer(t *testing.T) {
	first, stopFirst := upstream(t, "first")
	second, _ := upstream(t, "second")

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)

	var balancer kubeprism.Balancer

	go func() { done <- balancer.Serve(ctx, listener, slog.New(slog.DiscardHandler)) }()

	address := listener.Addr().String()

	if got := ask(t, address); got != "" {
		t.Errorf("without upstreams: got %q, want a closed connection", got)
	}

	balancer.SetUpstreams([]string{first, second})

	if got := ask(t, address); got != "first" {
		t.Errorf("both well: got %q, want the preferred one", got)
	}

	stopFirst()

	for range 2 {
		if got := ask(t, address); got != "second" {
			t.Errorf("the first is down: got %q, want %q", got, "second")
		}
	}

	if !balancer.Healthy() {
		t.Error("healthy: got false with one upstream well, want true")
	}

	cancel()

	if err := <-done; err != nil {
		t.Errorf("serve: got %v, want nil at the end of its context", err)
	}
}
