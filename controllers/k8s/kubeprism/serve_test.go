// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kubeprism_test

import (
	"context"
	"crypto/tls"
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

// TestRefuses checks that the port is closed while no upstream accepts connections: it opens soon after the first answer of the node's own API
// server. When the last upstream stops, it refuses connections, and the open ones are closed.
func TestRefuses(t *testing.T) {
	const noticed = 250 * time.Millisecond

	opened, shut := time.Hour, time.Hour // the best of all rounds, since the computer may be busy

	local := serve(t, "local")
	local.stop()

	var balancer kubeprism.Balancer

	address := start(t, &balancer)

	if !refused(address) {
		t.Error("no upstream is known: connections are accepted, want them refused")
	}

	balancer.SetUpstreams([]kubeprism.Upstream{{Address: local.address, Local: true}, {Address: freeAddress(t)}})

	for round := range 3 {
		time.Sleep(300 * time.Millisecond)

		if !refused(address) {
			t.Fatalf("round %d: no upstream answers: connections are accepted, want them refused", round)
		}

		if balancer.Healthy() {
			t.Errorf("round %d: no upstream answers: got healthy", round)
		}

		local.start(t)

		took := within(t, 5*time.Second, "the port opens", func() bool { return !refused(address) })
		opened = min(opened, took)

		conn, _ := connect(t, address, 5)

		local.stop()

		if !closed(conn, 5*time.Second) {
			t.Errorf("round %d: the connection to the upstream that has stopped is open", round)
		}

		took = within(t, 5*time.Second, "the port refuses", func() bool { return refused(address) })
		shut = min(shut, took)
	}

	t.Logf("open after %s, refused after %s", opened, shut)

	if max(opened, shut) > noticed {
		t.Errorf("got open after %s, refused after %s, want both within %s", opened, shut, noticed)
	}
}

// TestRefusesWithoutHandshake checks that an external load balancer without servers does not open the port, whether it closes connections or
// keeps them without an answer. An API server that answers opens the port, ready or not.
func TestRefusesWithoutHandshake(t *testing.T) {
	closes, mute := listen(t, func(conn net.Conn) { _ = conn.Close() }), listen(t, func(net.Conn) {})

	var status atomic.Int32

	status.Store(http.StatusInternalServerError)

	api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	api.StartTLS()
	t.Cleanup(api.Close)

	balancer := kubeprism.Balancer{Probe: new(kubeprism.Prober).Readyz}
	balancer.SetUpstreams([]kubeprism.Upstream{{Address: closes, Local: true}, {Address: mute}})

	address := start(t, &balancer)

	for begin := time.Now(); time.Since(begin) < time.Second; time.Sleep(10 * time.Millisecond) {
		if !refused(address) {
			t.Fatal("nothing answers behind the load balancer: connections are accepted, want them refused")
		}
	}

	balancer.SetUpstreams([]kubeprism.Upstream{{Address: closes}, {Address: strings.TrimPrefix(api.URL, "https://")}})
	within(t, 5*time.Second, "the port opens for an API server that is not ready yet", func() bool { return !refused(address) })

	if balancer.Ready() != 0 {
		t.Errorf("got %d upstreams that are ready, want none", balancer.Ready())
	}
}

// TestOpensForOneThatStarts checks that clients are not refused once the node's own API server accepts connections: they are forwarded when it
// answers, those of clients that have given up excepted.
func TestOpensForOneThatStarts(t *testing.T) {
	api := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(api.Close) // its socket listens, and no connection is accepted

	balancer := kubeprism.Balancer{Probe: new(kubeprism.Prober).Readyz}
	balancer.SetUpstreams([]kubeprism.Upstream{{Address: api.Listener.Addr().String(), Local: true}})

	address := start(t, &balancer)

	within(t, 5*time.Second, "the port opens", func() bool { return !refused(address) })

	if balancer.Healthy() {
		t.Error("the API server accepts connections and does not answer: got healthy")
	}

	gaveUp, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}

	_, _ = gaveUp.Write([]byte("hello"))

	asked := make(chan error, 1)

	go func() {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

		response, err := client.Get("https://" + address)
		if err == nil {
			err = response.Body.Close()
		}

		asked <- err
	}()

	select {
	case err := <-asked:
		t.Fatalf("before the API server answers: got %v, want the connection kept", err)
	case <-time.After(500 * time.Millisecond):
	}

	if n := balancer.Links(); n != 0 {
		t.Errorf("before the API server answers: got %d connections forwarded, want none that it must answer after the client has given up", n)
	}

	_ = gaveUp.Close()

	within(t, 5*time.Second, "the balancer leaves the client that gave up", func() bool { return balancer.Admitted() == 1 })
	api.StartTLS()

	if err := <-asked; err != nil {
		t.Errorf("the API server answers: got %v", err)
	}

	within(t, 5*time.Second, "it is ready", balancer.Healthy)
}

// listen accepts connections until the test ends.
func listen(t *testing.T, each func(net.Conn)) string {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = l.Close() })

	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}

			t.Cleanup(func() { _ = conn.Close() })
			each(conn)
		}
	}()

	return l.Addr().String()
}

// TestKeepsBusy checks that an API server that answers too late keeps its connections.
func TestKeepsBusy(t *testing.T) {
	var slow atomic.Bool

	local := serve(t, "local")
	asked := make(chan struct{}, 100)
	balancer := kubeprism.Balancer{Probe: func(ctx context.Context, address string, answered func()) error {
		asked <- struct{}{}

		if slow.Load() {
			return context.DeadlineExceeded // as of a handshake
		}

		return connects(ctx, address, answered)
	}}

	balancer.SetUpstreams([]kubeprism.Upstream{{Address: local.address, Local: true}})

	address := start(t, &balancer)
	within(t, 5*time.Second, "the port opens", func() bool { return !refused(address) })

	held, _ := connect(t, address, 5)

	slow.Store(true)

	for len(asked) > 0 {
		<-asked
	}

	// A connection that the server closes triggers a probe.
	ended, _ := connect(t, address, 5)

	local.mu.Lock()
	last := local.conns[len(local.conns)-1]
	local.mu.Unlock()

	_ = last.Close()

	if !closed(ended, 5*time.Second) {
		t.Fatal("the connection that the server closed is open")
	}

	<-asked
	<-asked // the state of the probe before is recorded

	if closed(held, 300*time.Millisecond) {
		t.Error("the connection is closed, want it kept")
	}

	if refused(address) {
		t.Error("connections are refused, want them accepted")
	}
}

// TestHalfClosed checks that one side can close its half of a connection and still read from the other.
func TestHalfClosed(t *testing.T) {
	echo := listen(t, func(conn net.Conn) {
		go func() {
			text, _ := io.ReadAll(conn)
			_, _ = conn.Write(text)
			_ = conn.Close()
		}()
	})

	var balancer kubeprism.Balancer
	balancer.SetUpstreams([]kubeprism.Upstream{{Address: echo}})

	address := start(t, &balancer)
	within(t, 5*time.Second, "the port opens", func() bool { return !refused(address) })

	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	_, _ = conn.Write([]byte("hello"))
	_ = conn.(*net.TCPConn).CloseWrite()

	if got, _ := io.ReadAll(conn); string(got) != "hello" {
		t.Errorf("got %q, want what was sent before the end", got)
	}
}

// TestReset checks that a connection ends that the server has reset, also if the client does not close its end.
func TestReset(t *testing.T) {
	reset := listen(t, func(conn net.Conn) {
		go func() {
			_, _ = conn.Read(make([]byte, 1)) // until the client is connected
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}()
	})

	var balancer kubeprism.Balancer
	balancer.SetUpstreams([]kubeprism.Upstream{{Address: reset}})

	address := start(t, &balancer)
	within(t, 5*time.Second, "the port opens", func() bool { return !refused(address) })

	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	within(t, 5*time.Second, "it is forwarded", func() bool { return balancer.Links() == 1 })

	_, _ = conn.Write([]byte("x"))

	within(t, 10*time.Second, "it ends", func() bool { return balancer.Links() == 0 })
}
