// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	clientapi "github.com/seed-59268b81/talos/api/discovery/client"
	"github.com/seed-59268b81/talos/discovery/server"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

var key = bytes.Repeat([]byte{42}, 32)

// network connects sessions with services in memory, by address.
type network struct {
	// buffer is the size of a connection's buffers.
	buffer int
	// intercept is called with each call of a service, if set.
	intercept grpc.UnaryServerInterceptor

	mu        sync.Mutex
	listeners map[string]*bufconn.Listener
}

func newNetwork(t testing.TB) *network {
	t.Helper()

	return &network{buffer: 256 << 10, listeners: map[string]*bufconn.Listener{}}
}

// start runs a service at an address until the test ends or stop is called.
func (n *network) start(t testing.TB, address string, register func(*grpc.Server)) (stop func()) {
	t.Helper()

	listener := bufconn.Listen(n.buffer)

	n.mu.Lock()
	n.listeners[address] = listener
	n.mu.Unlock()

	options := server.ServerOptions()
	if n.intercept != nil {
		options = append(options, grpc.UnaryInterceptor(n.intercept))
	}

	g := grpc.NewServer(options...)
	register(g)

	ended := make(chan struct{})

	go func() {
		defer close(ended)
		g.Serve(listener)
	}()

	stop = sync.OnceFunc(func() {
		n.mu.Lock()
		if n.listeners[address] == listener {
			delete(n.listeners, address)
		}
		n.mu.Unlock()

		g.Stop()
		<-ended
	})
	t.Cleanup(stop)

	return stop
}

// serve runs a service of ours.
func (n *network) serve(t testing.TB, address string, o server.Options) (s *server.Server, stop func()) {
	t.Helper()

	s = server.New(o, slog.New(slog.DiscardHandler))

	return s, n.serveThis(t, address, s)
}

func (n *network) serveThis(t testing.TB, address string, s *server.Server) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})

	go func() {
		defer close(ended)
		s.Run(ctx)
	}()

	stopServing := n.start(t, address, func(g *grpc.Server) { s.Register(g) })

	stop = sync.OnceFunc(func() {
		cancel()
		stopServing()
		<-ended
	})
	t.Cleanup(stop)

	return stop
}

func (n *network) dial(ctx context.Context, address string) (net.Conn, error) {
	n.mu.Lock()
	listener := n.listeners[address]
	n.mu.Unlock()

	if listener == nil {
		return nil, errors.New("connection refused")
	}

	return listener.DialContext(ctx)
}

func (n *network) options(address, id string) Options {
	return Options{
		Name: address, Endpoint: address, Insecure: true, ClusterID: "cluster", AffiliateID: id, Key: key, ClientVersion: "v1.0.0",
		Dialer: n.dial,
	}
}

// session runs a session until the test ends.
func (n *network) session(t testing.TB, address, id string) *Session {
	t.Helper()

	return run(t, New(n.options(address, id), slog.New(slog.DiscardHandler)))
}

func run(t testing.TB, s *Session) *Session {
	t.Helper()

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)

	go func() { ended <- s.Run(ctx) }()

	t.Cleanup(func() {
		cancel()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	return s
}

func local(name string, endpoints ...string) *Local {
	l := &Local{Affiliate: &clientapi.Affiliate{NodeId: name, Hostname: name}, Revision: 7}
	for _, e := range endpoints {
		l.Endpoints = append(l.Endpoints, netip.MustParseAddrPort(e))
	}

	return l
}

// await waits for a view.
func await(t testing.TB, s *Session, what string, ok func(v *View) bool) *View {
	t.Helper()

	timeout := time.After(time.Minute)

	for {
		v := s.View()
		if ok(v) {
			return v
		}

		select {
		case <-s.Changed():
		case <-timeout:
			t.Fatalf("%s: still waiting for %s, with %+v", s.options.AffiliateID, what, v)
		}
	}
}
