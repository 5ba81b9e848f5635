// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	clientapi "github.com/seed-59268b81/talos/api/discovery/client"
	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	discoveryclient "github.com/seed-59268b81/talos/discovery/client"
	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/discovery/seal"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/config"
)

// liar is a discovery service that takes what machines publish, and lists lies.
type liar struct {
	serverapi.UnimplementedClusterServer
	lies   []*serverapi.Affiliate
	closed chan struct{}
}

// startLiar serves on listeners until stop is called.
func startLiar(lies []*serverapi.Affiliate, listeners []net.Listener) (stop func()) {
	l := &liar{lies: lies, closed: make(chan struct{})}
	server := grpc.NewServer()
	serverapi.RegisterClusterServer(server, l)

	var all sync.WaitGroup

	for _, listener := range listeners {
		all.Go(func() { _ = server.Serve(listener) }) // it ends with stop
	}

	return sync.OnceFunc(func() {
		close(l.closed)
		server.Stop()
		all.Wait()
	})
}

// Hello implements the service.
func (*liar) Hello(context.Context, *serverapi.HelloRequest) (*serverapi.HelloResponse, error) {
	return &serverapi.HelloResponse{}, nil
}

// AffiliateUpdate implements the service.
func (*liar) AffiliateUpdate(context.Context, *serverapi.AffiliateUpdateRequest) (*serverapi.AffiliateUpdateResponse, error) {
	return &serverapi.AffiliateUpdateResponse{}, nil
}

// AffiliateDelete implements the service.
func (*liar) AffiliateDelete(context.Context, *serverapi.AffiliateDeleteRequest) (*serverapi.AffiliateDeleteResponse, error) {
	return &serverapi.AffiliateDeleteResponse{}, nil
}

// List implements the service.
func (l *liar) List(context.Context, *serverapi.ListRequest) (*serverapi.ListResponse, error) {
	return &serverapi.ListResponse{Affiliates: l.lies}, nil
}

// Watch implements the service.
func (l *liar) Watch(_ *serverapi.WatchRequest, stream grpc.ServerStreamingServer[serverapi.WatchResponse]) error {
	for _, m := range []*serverapi.WatchResponse{
		{Affiliates: l.lies},
		{Affiliates: l.lies[:1]},
		{Affiliates: []*serverapi.Affiliate{{Id: "no one"}}, Deleted: true},
	} {
		if err := stream.Send(m); err != nil {
			return err
		}
	}

	select {
	case <-stream.Context().Done():
	case <-l.closed:
	}

	return nil
}

// lie is an announcement as a service lists it.
func lie(t *testing.T, key []byte, id string, a *clientapi.Affiliate, revision uint64) *serverapi.Affiliate {
	t.Helper()

	if revision > 0 {
		a.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, extension.FieldRevision, protowire.VarintType), revision))
	}

	plain, err := proto.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}

	c, err := seal.New(key)
	if err != nil {
		t.Fatal(err)
	}

	return &serverapi.Affiliate{Id: id, Data: c.SealAffiliate(plain)}
}

// liesAbout returns old announcements of the machines of a cluster with a key, those of machines of other clusters, and garbage.
func liesAbout(t *testing.T, key []byte, members []cluster.MemberSpec) (lies []*serverapi.Affiliate) {
	t.Helper()

	somewhere := netip.MustParseAddr("192.0.2.99")

	former := func(m cluster.MemberSpec, kind config.MachineType) *clientapi.Affiliate {
		return &clientapi.Affiliate{
			NodeId: m.NodeID, Nodename: "former-" + m.Hostname, Hostname: "former-" + m.Hostname, MachineType: kind.String(), OperatingSystem: "Former (v0.0.1)",
			Addresses: [][]byte{somewhere.AsSlice()}, ControlPlane: &clientapi.ControlPlane{ApiServerPort: 443},
		}
	}

	for i, m := range members {
		// The revision of an old announcement is low; software of others has none.
		lies = append(lies, lie(t, key, m.NodeID, former(m, []config.MachineType{config.TypeControlPlane, config.TypeWorker}[i%2]), uint64(i%2)))
	}

	foreign := make([]byte, seal.KeySize)
	rand.Read(foreign) // it never fails

	for i, m := range members {
		m.NodeID = fmt.Sprintf("Foreign%d", i)
		lies = append(lies, lie(t, foreign, m.NodeID, former(m, config.TypeControlPlane), 1<<60))

		// What a machine said, as if another had.
		lies = append(lies, lie(t, key, m.NodeID+"-replayed", former(members[i], config.TypeControlPlane), 1<<60))
	}

	for i, size := range []int{0, 1, 12, 27, 28, 29, 2048} {
		noise := make([]byte, size)
		rand.Read(noise)

		lies = append(lies, &serverapi.Affiliate{Id: fmt.Sprintf("noise-%d", i), Data: noise, Endpoints: [][]byte{noise, nil}})
	}

	return slices.Concat(lies, []*serverapi.Affiliate{{}, {Id: "../../etc/passwd", Data: []byte("x")}, {Id: "empty"}})
}

// TestLiar checks what a client takes of the lies: the old announcements, which others know better, and nothing else.
func TestLiar(t *testing.T) {
	key := make([]byte, seal.KeySize)
	members := []cluster.MemberSpec{{NodeID: "One", Hostname: "one"}, {NodeID: "Two", Hostname: "two"}}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	stop := startLiar(liesAbout(t, key, members), []net.Listener{listener})
	defer stop()

	s := discoveryclient.New(discoveryclient.Options{
		Name: "liar", Endpoint: listener.Addr().String(), Insecure: true, ClusterID: "cluster", AffiliateID: "Three", Key: key, ClientVersion: "test",
	}, slog.New(slog.DiscardHandler))
	s.SetWatch(true)

	ctx, cancel := context.WithCancel(t.Context())

	var running sync.WaitGroup

	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})

	defer running.Wait()
	defer cancel()

	for v := s.View(); !v.Complete || v.Rejected == 0; v = s.View() {
		select {
		case <-s.Changed():
		case <-time.After(patience):
			t.Fatalf("got %+v, want that it listens", v)
		}
	}

	v := s.View()

	for _, m := range members {
		if a, ok := v.Affiliates[m.NodeID]; !ok || a.Revision > 1 {
			t.Errorf("%s is %+v, want an old announcement", m.NodeID, a)
		}
	}

	if v.Rejected < len(members) {
		t.Errorf("it rejects %d announcements, want those of %d machines of others at least", v.Rejected, len(members))
	}
}
