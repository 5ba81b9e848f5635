// SPDX-License-Identifier: Apache-2.0

package kubeprism_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
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

	balancer.SetUpstreams([]kubeprism.Upstream{{Address: second}, {Address: first, Local: true}})

	if got := ask(t, address); got != "first" {
		t.Errorf("both well: got %q, want the one on the node", got)
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

// TestBalance: the connections of one node, and the only ones of many nodes, are spread over the API servers.
func TestBalance(t *testing.T) {
	const each, servers = 20, 3

	var (
		all   []kubeprism.Upstream
		taken [servers]atomic.Int32
	)

	for i := range servers {
		all = append(all, kubeprism.Upstream{Address: serve(t, func(net.Conn) { taken[i].Add(1) })})
	}

	for _, tt := range []struct {
		name       string
		nodes      int
		least, all int32
	}{
		{"one node with many", 1, each, each * servers},
		{"many nodes with one each", each * servers, each / 4, each * servers},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i := range taken {
				taken[i].Store(0)
			}

			for range tt.nodes {
				var balancer kubeprism.Balancer
				balancer.SetUpstreams(all)

				address := start(t, &balancer)

				for range int(tt.all) / tt.nodes {
					connect(t, address)
				}
			}

			var sum int32

			for i := range taken {
				sum += taken[i].Load()

				if got := taken[i].Load(); got < tt.least {
					t.Errorf("server %d: got %d connections of %d, want at least %d", i, got, tt.all, tt.least)
				}
			}

			if sum != tt.all {
				t.Errorf("got %d connections, want %d", sum, tt.all)
			}
		})
	}
}

// serve accepts connections until the test ends, says hello on each and keeps it.
func serve(t *testing.T, accepted func(net.Conn)) (address string) {
	t.Helper()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = listener.Close() })

	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}

			t.Cleanup(func() { _ = conn.Close() })
			accepted(conn)

			_, _ = conn.Write([]byte("!"))
		}
	}()

	return listener.Addr().String()
}

// start has a balancer serve until the test ends.
func start(t *testing.T, balancer *kubeprism.Balancer) (address string) {
	t.Helper()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)

	go func() { done <- balancer.Serve(ctx, listener, slog.New(slog.DiscardHandler)) }()

	t.Cleanup(func() {
		cancel()

		if err := <-done; err != nil {
			t.Error(err)
		}
	})

	return listener.Addr().String()
}

// connect opens a connection, which stays until the test ends, up to the server.
func connect(t *testing.T, address string) {
	t.Helper()

	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = conn.Close() })

	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}
