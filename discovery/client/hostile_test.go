// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	clientapi "github.com/seed-59268b81/talos/api/discovery/client"
	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/discovery/seal"
	"github.com/seed-59268b81/talos/discovery/server"
)

// watchless is a service that refuses each watch.
type watchless struct {
	serverapi.ClusterServer

	hellos *atomic.Int64
}

func (w watchless) Watch(in *serverapi.WatchRequest, _ grpc.ServerStreamingServer[serverapi.WatchResponse]) error {
	w.hellos.Add(1)

	return status.Error(codes.Internal, "out of order")
}

// TestNoWatch checks in virtual time that a session does not burden a source that takes announcements and ends each watch.
func TestNoWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		broken := watchless{server.New(server.Options{}, slog.New(slog.DiscardHandler)), &atomic.Int64{}}
		n.start(t, "new:1", func(g *grpc.Server) { serverapi.RegisterClusterServer(g, broken) })

		a := n.session(t, "new:1", "a")
		a.Publish(local("a"))
		a.SetWatch(true)

		time.Sleep(time.Hour)

		if got := broken.hellos.Load(); got > 100 {
			t.Errorf("%d connections within an hour", got)
		}

		if v := a.View(); v.Err == nil {
			t.Errorf("the view is %+v, without an error", v)
		}
	})
}

// TestTooMuch: a source cannot make a session keep more than the members of the largest cluster.
func TestTooMuch(t *testing.T) {
	s := New(Options{Key: key, AffiliateID: "me", TTL: time.Minute}, slog.New(slog.DiscardHandler))
	s.SetWatch(true)
	t.Cleanup(s.stopExpiry)

	cipher, err := seal.New(key)
	if err != nil {
		t.Fatal(err)
	}

	plain, err := proto.Marshal(&clientapi.Affiliate{NodeId: "real"})
	if err != nil {
		t.Fatal(err)
	}

	endpoint, err := cipher.SealEndpoint(netip.MustParseAddrPort("192.0.2.1:51820"))
	if err != nil {
		t.Fatal(err)
	}

	members := []extension.Member{{ID: "real", Data: cipher.SealAffiliate(plain), Endpoints: slices.Repeat([][]byte{endpoint}, 1000)}}
	for i := range 30_000 {
		members = append(members, extension.Member{ID: fmt.Sprintf("junk-%d", i)})
	}

	members = append(members, extension.Member{ID: string(make([]byte, 1<<20))})

	s.receive(true, header{}, extension.Response{Members: members})

	if got := len(s.table.records); got != maxRecords {
		t.Errorf("%d members are kept, want %d", got, maxRecords)
	}

	v := s.View()
	if got := len(v.Affiliates["real"].Endpoints); got != maxEndpoints {
		t.Errorf("%d endpoints are kept, want %d", got, maxEndpoints)
	}

	if want := len(members) - maxRecords; v.Rejected != want {
		t.Errorf("%d are rejected, want %d", v.Rejected, want)
	}

	// What is known can still change and go.
	s.receive(false, header{}, extension.Response{Members: []extension.Member{{ID: "junk-1"}}, Deleted: true})
	s.receive(false, header{}, extension.Response{Members: []extension.Member{{ID: "new"}}})

	if _, ok := s.table.find("new"); !ok {
		t.Error("there is room for one, and a new member is not kept")
	}
}
