// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
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

// silent is a service that takes announcements, and says nothing to watchers until it is cured.
type silent struct {
	*server.Server

	cured *atomic.Bool
}

func (s silent) Watch(in *serverapi.WatchRequest, stream grpc.ServerStreamingServer[serverapi.WatchResponse]) error {
	if s.cured.Load() {
		return s.Server.Watch(in, stream)
	}

	<-stream.Context().Done()

	return stream.Context().Err()
}

// TestSilent checks in virtual time that a source which lives and says nothing is in error, so that another one is watched.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		mute := silent{server.New(server.Options{}, slog.New(slog.DiscardHandler)), &atomic.Bool{}}
		n.start(t, "new:1", func(g *grpc.Server) { serverapi.RegisterClusterServer(g, mute) })

		a := n.session(t, "new:1", "a")
		a.Publish(local("a"))

		time.Sleep(time.Minute)

		if v := a.View(); v.Err != nil || v.State != StatePublishing {
			t.Errorf("it is not watched, and the view is %+v", v)
		}

		a.SetWatch(true)

		for _, after := range []time.Duration{watchTimeout + 5*time.Second, 5 * time.Minute} {
			time.Sleep(after)

			if v := a.View(); v.Err == nil || !strings.Contains(v.Err.Error(), "has not told within 30s") || v.Complete {
				t.Errorf("the view is %+v, without the error", v)
			}
		}

		// Another source is watched now. This one is not the better one at once.
		a.SetWatch(false)
		time.Sleep(time.Minute)

		if v := a.View(); v.Err == nil || v.State != StatePublishing {
			t.Errorf("while it is not watched, the view is %+v", v)
		}

		time.Sleep(time.Hour)

		if v := a.View(); v.Err != nil {
			t.Errorf("later, the error is %v", v.Err)
		}

		mute.cured.Store(true)
		a.SetWatch(true)
		time.Sleep(time.Second)

		if v := a.View(); v.Err != nil || !v.Complete {
			t.Errorf("of a source that is cured, the view is %+v", v)
		}
	})
}

// TestWatchAgain: a session that is told not to watch and to watch, one after the other, watches.
func TestWatchAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.serve(t, "new:1", server.Options{})

		a := n.session(t, "new:1", "a")
		a.Publish(local("a"))
		a.SetWatch(true)

		for range 5 {
			time.Sleep(time.Minute)

			if v := a.View(); !v.Complete || v.State != StateWatching {
				t.Fatalf("the view is %+v", v)
			}

			a.SetWatch(false)
			a.SetWatch(true)
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
