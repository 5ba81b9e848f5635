// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/registry"
	"github.com/seed-59268b81/talos/discovery/server"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// serve runs a service and returns a function that connects to it, as an existing client does: with gRPC's own codec and limits.
func serve(t testing.TB, s *server.Server, listener net.Listener) func() serverapi.ClusterClient {
	t.Helper()

	g := grpc.NewServer(server.ServerOptions()...)
	s.Register(g)

	ended := make(chan struct{})

	go func() {
		defer close(ended)
		s.With(context.Background(), func() error { return g.Serve(listener) })
	}()

	t.Cleanup(func() { g.Stop(); <-ended })

	return func() serverapi.ClusterClient {
		options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
		if b, ok := listener.(*bufconn.Listener); ok {
			options = append(options, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return b.DialContext(ctx) }))
		}

		conn, err := grpc.NewClient("passthrough:///"+listener.Addr().String(), options...)
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { conn.Close() })

		return serverapi.NewClusterClient(conn)
	}
}

func inMemory(t testing.TB, o server.Options) (*server.Server, func() serverapi.ClusterClient) {
	t.Helper()

	s := server.New(o, slog.New(slog.DiscardHandler))

	return s, serve(t, s, bufconn.Listen(1<<20))
}

func update(id, data string, ttl time.Duration, endpoints ...string) *serverapi.AffiliateUpdateRequest {
	in := &serverapi.AffiliateUpdateRequest{ClusterId: "c", AffiliateId: id, Ttl: durationpb.New(ttl)}
	if data != "" {
		in.AffiliateData = []byte(data)
	}

	for _, e := range endpoints {
		in.AffiliateEndpoints = append(in.AffiliateEndpoints, []byte(e))
	}

	return in
}

func must(t testing.TB, api serverapi.ClusterClient, in *serverapi.AffiliateUpdateRequest) {
	t.Helper()

	if _, err := api.AffiliateUpdate(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// text returns a message as the tests write it.
func text(m *serverapi.WatchResponse) string {
	var all []string

	for _, a := range m.GetAffiliates() {
		one := a.GetId() + "=" + string(a.GetData())
		for _, e := range a.GetEndpoints() {
			one += "(" + string(e) + ")"
		}

		if m.GetDeleted() {
			one = "-" + a.GetId()
		}

		all = append(all, one)
	}

	return strings.Join(all, " ")
}

func receive(t testing.TB, w grpc.ServerStreamingClient[serverapi.WatchResponse], want string) {
	t.Helper()

	m, err := w.Recv()
	if err != nil || text(m) != want {
		t.Fatalf("received %q, %v, want %q", text(m), err, want)
	}
}

// TestExistingClient calls the service as existing clients do.
func TestExistingClient(t *testing.T) {
	_, connect := inMemory(t, server.Options{})
	api := connect()
	ctx := t.Context()

	hello, err := api.Hello(ctx, &serverapi.HelloRequest{ClusterId: "c", ClientVersion: "v1.2.3"})
	if err != nil || hello.GetRedirect() != nil {
		t.Fatalf("hello: %v, %v", hello, err)
	}

	w, err := api.Watch(ctx, &serverapi.WatchRequest{ClusterId: "c"})
	if err != nil {
		t.Fatal(err)
	}

	// The first message has everything, also when that is nothing.
	receive(t, w, "")

	must(t, api, update("a", "1", time.Minute, "x"))
	receive(t, w, "a=1(x)")

	must(t, api, update("a", "1", time.Minute, "x")) // nothing to tell
	must(t, api, update("a", "", time.Minute, "y"))
	receive(t, w, "a=1(x)(y)")

	must(t, api, update("b", "2", time.Minute))
	receive(t, w, "b=2")

	list, err := api.List(ctx, &serverapi.ListRequest{ClusterId: "c"})
	if got := text(&serverapi.WatchResponse{Affiliates: list.GetAffiliates()}); err != nil || got != "a=1(x)(y) b=2" {
		t.Errorf("list: %q, %v", got, err)
	}

	late, err := api.Watch(ctx, &serverapi.WatchRequest{ClusterId: "c"})
	if err != nil {
		t.Fatal(err)
	}

	receive(t, late, "a=1(x)(y) b=2")

	other, err := api.Watch(ctx, &serverapi.WatchRequest{ClusterId: "d"})
	if err != nil {
		t.Fatal(err)
	}

	receive(t, other, "")

	for _, id := range []string{"unknown", "a"} {
		if _, err := api.AffiliateDelete(ctx, &serverapi.AffiliateDeleteRequest{ClusterId: "c", AffiliateId: id}); err != nil {
			t.Fatal(err)
		}
	}

	receive(t, w, "-a")
	receive(t, late, "-a")
}

// TestCoalesced checks that the first change of a quiet period comes at once, and that those after it come together.
func TestCoalesced(t *testing.T) {
	_, connect := inMemory(t, server.Options{})
	api := connect()

	w, err := api.Watch(t.Context(), &serverapi.WatchRequest{ClusterId: "c"})
	if err != nil {
		t.Fatal(err)
	}

	receive(t, w, "")

	must(t, api, update("first", "1", time.Minute))
	receive(t, w, "first=1")

	for i := range 200 {
		must(t, api, update(fmt.Sprintf("m%03d", i), "1", time.Minute))
	}

	members, messages := 0, 0

	for members < 200 {
		m, err := w.Recv()
		if err != nil {
			t.Fatal(err)
		}

		members += len(m.GetAffiliates())
		messages++
	}

	// 200 calls take some windows on a slow machine.
	if messages > 50 {
		t.Errorf("200 changes came in %d messages", messages)
	}
}

func TestExpiry(t *testing.T) {
	_, connect := inMemory(t, server.Options{})
	api := connect()

	w, err := api.Watch(t.Context(), &serverapi.WatchRequest{ClusterId: "c"})
	if err != nil {
		t.Fatal(err)
	}

	receive(t, w, "")
	must(t, api, update("a", "1", 10*time.Minute))
	receive(t, w, "a=1")
	must(t, api, update("a", "", time.Millisecond, "x"))
	receive(t, w, "a=1(x)")

	// The member stays, the endpoint does not.
	receive(t, w, "a=1")

	must(t, api, update("a", "1", 0))
	receive(t, w, "-a")
}

func TestRefusals(t *testing.T) {
	_, connect := inMemory(t, server.Options{Limits: registry.Limits{Affiliates: 2, Endpoints: 2}})
	api := connect()
	ctx := t.Context()
	long := strings.Repeat("x", 257)

	must(t, api, update("a", "1", time.Minute))
	must(t, api, update("b", "1", time.Minute))

	change := func(f func(in *serverapi.AffiliateUpdateRequest)) error {
		in := update("a", "1", time.Minute)
		f(in)

		_, err := api.AffiliateUpdate(ctx, in)

		return err
	}

	hello := func(id string) error {
		_, err := api.Hello(ctx, &serverapi.HelloRequest{ClusterId: id})

		return err
	}

	list := func(id string) error {
		_, err := api.List(ctx, &serverapi.ListRequest{ClusterId: id})

		return err
	}

	watch := func(id string) error {
		w, err := api.Watch(ctx, &serverapi.WatchRequest{ClusterId: id})
		if err == nil {
			_, err = w.Recv()
		}

		return err
	}

	remove := func(cluster, id string) error {
		_, err := api.AffiliateDelete(ctx, &serverapi.AffiliateDeleteRequest{ClusterId: cluster, AffiliateId: id})

		return err
	}

	type request = serverapi.AffiliateUpdateRequest

	for i, c := range []struct {
		err  error
		code codes.Code
		want string
	}{
		{hello(""), codes.InvalidArgument, "cluster ID can't be empty"},
		{hello(long), codes.InvalidArgument, "cluster ID is too long"},
		{hello(long[:256]), codes.OK, ""},
		{list(""), codes.InvalidArgument, "cluster ID can't be empty"},
		{watch(""), codes.InvalidArgument, "cluster ID can't be empty"},
		{watch(long), codes.InvalidArgument, "cluster ID is too long"},
		{remove("", "a"), codes.InvalidArgument, "cluster ID can't be empty"},
		{remove("c", ""), codes.InvalidArgument, "affiliate ID can't be empty"},
		{remove("c", long), codes.InvalidArgument, "affiliate ID is too long"},
		{change(func(in *request) { in.ClusterId = "" }), codes.InvalidArgument, "cluster ID can't be empty"},
		{change(func(in *request) { in.ClusterId, in.AffiliateId = long, long }), codes.InvalidArgument, "cluster ID is too long"},
		{change(func(in *request) { in.AffiliateId = "" }), codes.InvalidArgument, "affiliate ID can't be empty"},
		{change(func(in *request) { in.AffiliateId, in.AffiliateData = long, make([]byte, 2049) }), codes.InvalidArgument, "affiliate ID is too long"},
		{change(func(in *request) { in.AffiliateData, in.Ttl = make([]byte, 2049), durationpb.New(time.Hour) }), codes.InvalidArgument, "affiliate data is too big"},
		{change(func(in *request) { in.AffiliateData = make([]byte, 2048) }), codes.OK, ""},
		{change(func(in *request) {
			in.AffiliateEndpoints, in.Ttl = [][]byte{make([]byte, 33)}, durationpb.New(time.Hour)
		}), codes.InvalidArgument, "affiliate endpoint is too big"},
		{change(func(in *request) { in.AffiliateEndpoints = [][]byte{make([]byte, 32)} }), codes.OK, ""},
		{change(func(in *request) { in.Ttl = durationpb.New(30*time.Minute + 1) }), codes.InvalidArgument, "ttl is too large"},
		{change(func(in *request) { in.Ttl = durationpb.New(30 * time.Minute) }), codes.OK, ""},
		{change(func(in *request) { in.AffiliateId = "third" }), codes.ResourceExhausted, "too many affiliates in the cluster"},
		{change(func(in *request) { in.AffiliateEndpoints = [][]byte{{1}, {2}} }), codes.ResourceExhausted, "too many endpoints in the affiliate"},
	} {
		if got := status.Convert(c.err); got.Code() != c.code || got.Message() != c.want {
			t.Errorf("%d: %s %q, want %s %q", i, got.Code(), got.Message(), c.code, c.want)
		}
	}
}

func TestRedirect(t *testing.T) {
	_, connect := inMemory(t, server.Options{Redirect: "other.example.com:443"})

	got, err := connect().Hello(t.Context(), &serverapi.HelloRequest{ClusterId: "c"})
	if err != nil || got.GetRedirect().GetEndpoint() != "other.example.com:443" {
		t.Errorf("hello: %v, %v", got, err)
	}
}

// TestNothingStays checks that a cluster that no one uses costs nothing.
func TestNothingStays(t *testing.T) {
	s, connect := inMemory(t, server.Options{})
	api := connect()

	if _, err := api.List(t.Context(), &serverapi.ListRequest{ClusterId: "asked for"}); err != nil {
		t.Fatal(err)
	}

	if _, err := api.AffiliateDelete(t.Context(), &serverapi.AffiliateDeleteRequest{ClusterId: "deleted", AffiliateId: "x"}); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())

	w, err := api.Watch(ctx, &serverapi.WatchRequest{ClusterId: "watched"})
	if err != nil {
		t.Fatal(err)
	}

	receive(t, w, "")

	if got := s.Counts(); got.Clusters != 1 || got.Watches != 1 {
		t.Errorf("while it is watched: %+v", got)
	}

	cancel()

	for s.Counts().Clusters > 0 {
		if t.Context().Err() != nil {
			t.Fatal("the watched cluster stays")
		}

		time.Sleep(time.Millisecond)
	}
}

func TestTotalLimit(t *testing.T) {
	_, connect := inMemory(t, server.Options{MaxAffiliates: 1})
	api := connect()

	must(t, api, update("a", "1", time.Minute))
	must(t, api, update("a", "2", time.Minute))

	if _, err := api.AffiliateUpdate(t.Context(), update("b", "1", time.Minute)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one too many: %v", err)
	}

	if _, err := api.AffiliateDelete(t.Context(), &serverapi.AffiliateDeleteRequest{ClusterId: "c", AffiliateId: "a"}); err != nil {
		t.Fatal(err)
	}

	must(t, api, update("b", "1", time.Minute))
}
