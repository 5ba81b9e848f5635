// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/discovery/server"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// service runs a discovery service at an address, until stop is called.
func service(t *testing.T, address string) (at string, stop func()) {
	t.Helper()

	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}

	s := server.New(server.Options{}, slog.New(slog.DiscardHandler))
	g := grpc.NewServer(server.ServerOptions()...)
	s.Register(g)

	ended := make(chan struct{})

	go func() {
		defer close(ended)
		s.With(context.Background(), func() error { return g.Serve(listener) })
	}()

	stopped := false
	stop = func() {
		if !stopped {
			stopped = true

			g.Stop()
			<-ended
		}
	}

	t.Cleanup(stop)

	return listener.Addr().String(), stop
}

// TestRealServices: two machines find each other through real services. One of these ends and starts again without what it knew, and the
// members stay. A machine that leaves is forgotten, and a machine keeps what it says about its etcd.
func TestRealServices(t *testing.T) {
	one, stopOne := service(t, "127.0.0.1:0")
	two, stopTwo := service(t, "127.0.0.1:0")

	spec := settings()
	spec.ServiceEndpoints = []cluster.ServiceEndpoint{{Name: "one", Endpoint: one, Insecure: true}, {Name: "two", Endpoint: two, Insecure: true}}

	start := func(id string) *controllertest.Node {
		dir := t.TempDir()
		n := controllertest.Start(t, stateVolume(dir), discoveryServiceController(Deps{Root: dir, Open: System.Open}),
			affiliateMergeController(), memberController(), etcdClaimController())

		worker := own(id)
		worker.MachineType, worker.Etcd = 3, cluster.EtcdAsked // no control plane, so that there are no other sources

		controllertest.Set(n, cluster.LocalIdentityID, cluster.IdentitySpec{NodeID: id})
		controllertest.Set(n, secrets.OSRootID, secrets.OSRootSpec{})
		controllertest.Set(n, cluster.ConfigID, spec)
		controllertest.Set(n, id, worker)

		return n
	}

	a, b := start("a"), start("b")

	knows := func(n *controllertest.Node, name string, addresses ...string) {
		t.Helper()

		controllertest.Wait(n, name, func(m cluster.MemberSpec) bool { return slices.Equal(m.Addresses, addrs(addresses...)) })
	}

	knows(a, "node-b", "172.20.0.98")
	knows(b, "node-a", "172.20.0.97")
	controllertest.Wait(a, "b", func(c cluster.EtcdClaimSpec) bool { return c.Claim == cluster.EtcdAsked })

	watched := func(n *controllertest.Node, source string) {
		t.Helper()

		controllertest.Wait(n, source, func(s cluster.DiscoverySourceSpec) bool { return s.Watched && s.Members == 1 && s.Error == "" })
	}

	// Both services were reached at once, so either may be the first one.
	stopOne()
	watched(a, "two")
	knows(a, "node-b", "172.20.0.98")

	moved := own("b")
	moved.MachineType, moved.Addresses = 3, addrs("172.20.0.200")
	controllertest.Set(b, "b", moved)
	knows(a, "node-b", "172.20.0.200")

	// A service that has lost everything gets it again.
	stopTwo()
	service(t, one)
	watched(a, "one")
	knows(a, "node-b", "172.20.0.200")

	a.Quiet(3 * time.Second)

	controllertest.Set(b, cluster.ConfigID, cluster.ConfigSpec{})
	controllertest.Wait(a, "one", func(s cluster.DiscoverySourceSpec) bool { return s.Watched && s.Members == 0 })
	wantMembers(t, a, "node-a")
}
