// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kubeprism_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/kubeprism"
)

// apiServer is an API server that can hang: it accepts connections, and answers no request.
type apiServer struct {
	*httptest.Server
	hangs                atomic.Bool
	requests, handshakes atomic.Int32
}

func serveAPI(t *testing.T, name string) *apiServer {
	t.Helper()

	s := &apiServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)

		if s.hangs.Load() {
			<-r.Context().Done()

			return
		}

		_, _ = w.Write([]byte(name))
	}))
	s.TLS = &tls.Config{VerifyConnection: func(tls.ConnectionState) error {
		s.handshakes.Add(1)

		return nil
	}}
	s.StartTLS()
	t.Cleanup(s.Close)

	return s
}

func (s *apiServer) address() string { return strings.TrimPrefix(s.URL, "https://") }

// TestLeavesHung checks that connections to an API server that hangs are closed within 5 s, and that new ones go to another. When it is the only
// one, it keeps its connections.
func TestLeavesHung(t *testing.T) {
	local, other := serveAPI(t, "local"), serveAPI(t, "other")

	var prober kubeprism.Prober

	balancer := kubeprism.Balancer{Probe: prober.Readyz}
	balancer.SetUpstreams([]kubeprism.Upstream{{Address: local.address(), Local: true}, {Address: other.address()}})

	address := start(t, &balancer)
	t.Cleanup(prober.Close)
	within(t, 5*time.Second, "both are ready", func() bool { return balancer.Ready() == 2 && !refused(address) })

	held, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()

	// A server in use is probed over one connection: one more handshake than that of the connection above, whatever the number of requests.
	before := local.requests.Load()
	within(t, 10*time.Second, "the server in use is probed again", func() bool { return local.requests.Load() >= before+2 })

	if got := local.handshakes.Load(); got > 3 { // a probe may have connected at the same time
		t.Errorf("got %d handshakes with the server in use, want a connection to be used again", got)
	}

	local.hangs.Store(true)

	begin := time.Now()

	if !closed(held.NetConn(), 20*time.Second) {
		t.Fatal("the connection to the server that hangs is open")
	}

	took := time.Since(begin)
	t.Logf("closed after %s", took)

	if took > 5*time.Second {
		t.Errorf("the connection to the server that hangs was closed after %s, want within 5s", took)
	}

	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}

	response, err := client.Get("https://" + address)
	if err != nil {
		t.Fatalf("a new connection: %v", err)
	}
	defer response.Body.Close()

	name := make([]byte, 5)
	if _, err := response.Body.Read(name); string(name) != "other" {
		t.Errorf("a new connection: got %q, %v, want the other server", name, err)
	}
}

// TestConnectsPastDead checks that a connection does not wait for a machine that neither accepts nor refuses it.
func TestConnectsPastDead(t *testing.T) {
	alive := serve(t, "alive")

	// The last probe was before the power went.
	balancer := kubeprism.Balancer{Probe: func(_ context.Context, _ string, answered func()) error {
		answered()

		return nil
	}}

	// The queue of a socket that nothing accepts from is full after a few connections, and the kernel then drops the first packet of the next.
	dead := full(t)

	balancer.SetUpstreams([]kubeprism.Upstream{{Address: dead, Local: true}, {Address: alive.address}})

	address := start(t, &balancer)
	within(t, 5*time.Second, "both are ready", func() bool { return balancer.Ready() == 2 && !refused(address) })

	begin := time.Now()

	if _, name := connect(t, address, 5); name != "alive" {
		t.Errorf("got %q, want the server that accepts", name)
	}

	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("a connection took %s, want it not to wait for the dead server", took)
	}
}
