// SPDX-License-Identifier: Apache-2.0

package clusterstate_test

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/controllers/clusterstate"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/remote"
	"github.com/seed-59268b81/talos/cosi/resource"
	cosiserver "github.com/seed-59268b81/talos/cosi/server"
	"github.com/seed-59268b81/talos/cosi/state"
	clusterstateres "github.com/seed-59268b81/talos/resources/clusterstate"
	"github.com/seed-59268b81/talos/resources/secrets"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// overGRPC returns the state as a client of the API has it.
func overGRPC(t testing.TB, st state.State) state.State {
	t.Helper()

	listener := bufconn.Listen(1 << 16)
	g := grpc.NewServer()
	cosiapi.RegisterStateServer(g, cosiserver.New(st))

	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()

	conn, err := grpc.NewClient("passthrough:state", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	ok(t, err)

	t.Cleanup(func() {
		conn.Close()
		g.Stop()
		<-served
	})

	return remote.New(conn)
}

// TestRemoteWatch: a watch over the API misses nothing while the store is closed and opened again, whatever the reason.
func TestRemoteWatch(t *testing.T) {
	b := newBench(t)
	b.ready()

	client := b.server.dial()
	st := overGRPC(t, b.shared)
	events := make(chan state.Event)
	ok(t, st.WatchKind(t.Context(), resource.KindOf[clusterstateres.LockSpec](""), events))

	// during calls change while the store is away, and checks that the watch has the changes of a lock.
	during := func(what string, change func()) {
		t.Helper()

		held, err := clusterstate.Claim(t.Context(), client, what, "cp-1")
		ok(t, err)

		change()

		if got := next(t, events); got != "created "+what {
			t.Errorf("%s: got %q", what, got)
		}

		ok(t, held.Release(t.Context()))

		if got := next(t, events); got != "destroyed "+what {
			t.Errorf("%s: got %q", what, got)
		}
	}

	during("certificate", func() {
		_, certs := b.server.secrets()
		controllertest.Set(b.Node, secrets.EtcdID, certs)
	})

	during("service", func() {
		controllertest.Set(b.Node, "etcd", serviceres.ServiceSpec{})
		b.refuses(state.Unavailable, "does not run")
		controllertest.Set(b.Node, "etcd", serviceres.ServiceSpec{Running: true, Healthy: true})
	})

	during("server", func() {
		b.server.kill()
		b.refuses(state.Unavailable, "does not answer")
		b.server.start()
	})

	// Its errors keep their class, also for a client.
	b.server.kill()
	b.refuses(state.Unavailable, "does not answer")

	if _, err := st.Get(t.Context(), resource.PointerOf[clusterstateres.LockSpec]("", "lock")); !state.IsUnavailable(err) {
		t.Errorf("got %v, want Unavailable", err)
	}
}
