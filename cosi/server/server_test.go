// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/server"
	"github.com/seed-59268b81/talos/cosi/state"
)

func dial(t *testing.T, st state.State) v1alpha1.StateClient {
	t.Helper()

	listener := bufconn.Listen(1 << 20)
	g := grpc.NewServer()
	v1alpha1.RegisterStateServer(g, server.New(st))

	go g.Serve(listener)

	conn, err := grpc.NewClient("passthrough:x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	ok(t, err)

	t.Cleanup(func() {
		conn.Close()
		g.Stop()
	})

	return v1alpha1.NewStateClient(conn)
}

func ok(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

func wireItem(id string) *v1alpha1.Resource {
	return &v1alpha1.Resource{
		Metadata: &v1alpha1.Metadata{Namespace: "n", Type: "Items.conformance.cosi.dev", Id: id, Version: "undefined", Phase: "running"},
		Spec:     &v1alpha1.Spec{ProtoSpec: []byte("\x0a\x01v"), YamlSpec: "ignored"},
	}
}

const itemType = "Items.conformance.cosi.dev"

// TestWireForm checks the messages on the wire, field by field, with the generated types.
func TestWireForm(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	st := memory.New()
	client := dial(t, st)
	ctx := t.Context()

	in := wireItem("a")
	in.Metadata.Labels = map[string]string{"k": "v", "empty": ""}
	in.Metadata.Annotations = map[string]string{"note": "☃"}
	in.Metadata.Finalizers = []string{"f2", "f1"}
	in.Metadata.Created = timestamppb.New(time.Unix(1, 0))

	created, err := client.Create(ctx, &v1alpha1.CreateRequest{Resource: in, Options: &v1alpha1.CreateOptions{Owner: "me"}})
	ok(t, err)

	// The reference's client knows only its own time of creation, and sends it with later updates.
	if got := created.GetResource().GetMetadata().GetCreated().AsTime(); !got.Equal(time.Unix(1, 0)) {
		t.Errorf("created: got %s, want the client's time", got)
	}

	want := proto.CloneOf(in)
	want.Metadata.Version = "1"
	want.Metadata.Owner = "me"
	want.Spec.YamlSpec = "value: v\n" // encoded by the server, which knows the type

	times := protocmp.IgnoreFields(&v1alpha1.Metadata{}, "created", "updated")

	if diff := cmp.Diff(want, created.GetResource(), protocmp.Transform(), times); diff != "" {
		t.Errorf("create (-want +got):\n%s", diff)
	}

	got, err := client.Get(ctx, &v1alpha1.GetRequest{Namespace: "n", Type: itemType, Id: "a"})
	ok(t, err)

	if diff := cmp.Diff(created.GetResource(), got.GetResource(), protocmp.Transform()); diff != "" {
		t.Errorf("get (-created +got):\n%s", diff)
	}

	stream, err := client.Watch(ctx, &v1alpha1.WatchRequest{
		Namespace: "n", Type: itemType, ApiVersion: 1,
		Options: &v1alpha1.WatchOptions{BootstrapContents: true, Aggregated: true},
	})
	ok(t, err)

	first, err := stream.Recv()
	ok(t, err)

	if len(first.GetEvent()) != 0 {
		t.Errorf("first message: got %v, want it empty", first)
	}

	boot, err := stream.Recv()
	ok(t, err)

	tombstone := &v1alpha1.Resource{
		Metadata: &v1alpha1.Metadata{Namespace: "n", Type: itemType, Version: "undefined", Phase: "running"},
		Spec:     &v1alpha1.Spec{},
	}
	wantBoot := []*v1alpha1.Event{
		{Resource: created.GetResource()},
		{EventType: v1alpha1.EventType_BOOTSTRAPPED, Resource: tombstone, Bookmark: boot.GetEvent()[1].GetBookmark()},
	}

	if diff := cmp.Diff(wantBoot, boot.GetEvent(), protocmp.Transform()); diff != "" {
		t.Errorf("bootstrap (-want +got):\n%s", diff)
	}

	if boot.GetEvent()[0].Bookmark != nil || len(boot.GetEvent()[1].Bookmark) == 0 {
		t.Error("a bookmark is where none belongs, or is missing")
	}

	changed := proto.CloneOf(created.GetResource())
	changed.Metadata.Finalizers = nil
	changed.Spec.ProtoSpec = nil

	updated, err := client.Update(ctx, &v1alpha1.UpdateRequest{
		NewResource: changed, Options: &v1alpha1.UpdateOptions{Owner: "me", ExpectedPhase: proto.String("running")},
	})
	ok(t, err)

	msg, err := stream.Recv()
	ok(t, err)

	if diff := cmp.Diff([]*v1alpha1.Event{{
		EventType: v1alpha1.EventType_UPDATED, Resource: updated.GetResource(), Old: created.GetResource(),
		Bookmark: msg.GetEvent()[0].GetBookmark(),
	}}, msg.GetEvent(), protocmp.Transform()); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}

	if updated.GetResource().GetSpec().ProtoSpec != nil {
		t.Error("the empty proto_spec is present")
	}

	if !proto.Equal(updated.GetResource().GetMetadata().GetCreated(), created.GetResource().GetMetadata().GetCreated()) {
		t.Error("the update changed the time of creation")
	}
}

// TestCodes checks the codes by which clients distinguish errors, and that any malformed request is only an error.
func TestCodes(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	ctx := t.Context()
	st := memory.New()
	client := dial(t, st)

	ok(t, st.Create(ctx, conformance.NewItem("n", "mine", "1"), state.WithOwner("me")))
	ok(t, st.Create(ctx, conformance.NewItem("n", "held", "1")))
	ok(t, st.AddFinalizer(ctx, resource.PointerOf[conformance.ItemSpec]("n", "held"), "f"))
	ok(t, st.Create(ctx, conformance.NewItem("n", "leaving", "1")))
	_, err := st.Teardown(ctx, resource.PointerOf[conformance.ItemSpec]("n", "leaving"))
	ok(t, err)

	create := func(edit func(*v1alpha1.CreateRequest)) func() error {
		return func() error {
			req := &v1alpha1.CreateRequest{Resource: wireItem("new")}
			edit(req)
			_, err := client.Create(ctx, req)

			return err
		}
	}

	update := func(id, version string, edit func(*v1alpha1.UpdateRequest)) func() error {
		return func() error {
			req := &v1alpha1.UpdateRequest{NewResource: wireItem(id), Options: &v1alpha1.UpdateOptions{ExpectedPhase: proto.String("running")}}
			req.NewResource.Metadata.Version = version
			edit(req)
			_, err := client.Update(ctx, req)

			return err
		}
	}

	list := func(o *v1alpha1.ListOptions) func() error {
		return func() error {
			stream, err := client.List(ctx, &v1alpha1.ListRequest{Namespace: "n", Type: itemType, Options: o})
			if err != nil {
				return err
			}

			_, err = stream.Recv()

			return err
		}
	}

	term := func(term *v1alpha1.LabelTerm) *v1alpha1.ListOptions {
		return &v1alpha1.ListOptions{LabelQuery: []*v1alpha1.LabelQuery{{Terms: []*v1alpha1.LabelTerm{term}}}}
	}

	watch := func(id *string, o *v1alpha1.WatchOptions) func() error {
		return func() error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()

			stream, err := client.Watch(ctx, &v1alpha1.WatchRequest{Namespace: "n", Type: itemType, Id: id, Options: o})
			if err != nil {
				return err
			}

			_, err = stream.Recv()

			return err
		}
	}

	destroy := func(id, owner string) func() error {
		return func() error {
			_, err := client.Destroy(ctx, &v1alpha1.DestroyRequest{Namespace: "n", Type: itemType, Id: id, Options: &v1alpha1.DestroyOptions{Owner: owner}})

			return err
		}
	}

	none := func(*v1alpha1.UpdateRequest) {}

	for _, tt := range []struct {
		name string
		call func() error
		want codes.Code
	}{
		{"get of nothing", func() error { _, err := client.Get(ctx, &v1alpha1.GetRequest{}); return err }, codes.NotFound},

		{"create without a resource", create(func(r *v1alpha1.CreateRequest) { r.Resource = nil }), codes.InvalidArgument},
		{"create without metadata", create(func(r *v1alpha1.CreateRequest) { r.Resource.Metadata = nil }), codes.InvalidArgument},
		{"create without a spec", create(func(r *v1alpha1.CreateRequest) { r.Resource.Spec = nil; r.Resource.Metadata.Id = "bare" }), codes.OK},
		{"create without options", create(func(r *v1alpha1.CreateRequest) { r.Options = nil; r.Resource.Metadata.Id = "free" }), codes.OK},
		{"create with a bad version", create(func(r *v1alpha1.CreateRequest) { r.Resource.Metadata.Version = "-1" }), codes.InvalidArgument},
		{"create with an empty version", create(func(r *v1alpha1.CreateRequest) { r.Resource.Metadata.Version = "" }), codes.InvalidArgument},
		{"create with a huge version", create(func(r *v1alpha1.CreateRequest) { r.Resource.Metadata.Version = "18446744073709551615" }), codes.InvalidArgument},
		{"create with a bad phase", create(func(r *v1alpha1.CreateRequest) { r.Resource.Metadata.Phase = "gone" }), codes.InvalidArgument},
		{"create with a bad spec", create(func(r *v1alpha1.CreateRequest) { r.Resource.Spec.ProtoSpec = []byte{0xff} }), codes.InvalidArgument},
		{"create of an existing resource", create(func(r *v1alpha1.CreateRequest) { r.Resource.Metadata.Id = "mine" }), codes.AlreadyExists},
		{"create of another's", create(func(r *v1alpha1.CreateRequest) { r.Resource.Metadata.Owner = "me" }), codes.InvalidArgument},
		{"create at an odd time", create(func(r *v1alpha1.CreateRequest) {
			r.Resource.Metadata.Id = "timeless"
			r.Resource.Metadata.Updated = &timestamppb.Timestamp{Seconds: 1 << 60, Nanos: -1}
		}), codes.OK},

		{"create by a client that has its own time", create(func(r *v1alpha1.CreateRequest) {
			r.Resource.Metadata.Id = "timed"
			r.Resource.Metadata.Created = &timestamppb.Timestamp{Seconds: 1e9, Nanos: 5}
		}), codes.OK},
		{"its update", update("timed", "1", func(r *v1alpha1.UpdateRequest) {
			r.NewResource.Metadata.Created = &timestamppb.Timestamp{Seconds: 1e9, Nanos: 5}
		}), codes.OK},
		{"an update of an earlier life", update("timed", "2", func(r *v1alpha1.UpdateRequest) {
			r.NewResource.Metadata.Created = &timestamppb.Timestamp{Seconds: 1e9, Nanos: 4}
		}), codes.FailedPrecondition},

		{"update without options", update("mine", "1", func(r *v1alpha1.UpdateRequest) { r.Options = nil }), codes.PermissionDenied},
		{"update without a resource", update("mine", "1", func(r *v1alpha1.UpdateRequest) { r.NewResource = nil }), codes.Unknown},
		{"update with a bad version", update("held", "x", none), codes.Unknown},
		{"update with a bad phase", update("held", "2", func(r *v1alpha1.UpdateRequest) { r.Options.ExpectedPhase = proto.String("x") }), codes.Unknown},
		{"update of nothing", update("none", "1", none), codes.NotFound},
		{"update of another version", update("held", "7", none), codes.FailedPrecondition},
		{"update in another phase", update("leaving", "2", none), codes.InvalidArgument},
		{"update in any phase", update("leaving", "2", func(r *v1alpha1.UpdateRequest) { r.Options.ExpectedPhase = nil }), codes.OK},

		{"destroy of nothing", destroy("none", ""), codes.NotFound},
		{"destroy of a resource of another owner", destroy("mine", ""), codes.PermissionDenied},
		{"destroy of a resource with a finalizer", destroy("held", ""), codes.FailedPrecondition},
		{"teardown of another's", func() error {
			_, err := client.Teardown(ctx, &v1alpha1.TeardownRequest{Namespace: "n", Type: itemType, Id: "mine"})

			return err
		}, codes.PermissionDenied},
		{"teardown and destroy of nothing", func() error {
			_, err := client.TeardownAndDestroy(ctx, &v1alpha1.TeardownAndDestroyRequest{})

			return err
		}, codes.NotFound},

		{"equal without a value", list(term(&v1alpha1.LabelTerm{Op: v1alpha1.LabelTerm_EQUAL})), codes.InvalidArgument},
		{"less without a value", list(term(&v1alpha1.LabelTerm{Op: v1alpha1.LabelTerm_LT_NUMERIC})), codes.InvalidArgument},
		{"an unknown operation", list(term(&v1alpha1.LabelTerm{Op: 99})), codes.Unimplemented},
		{"no term", list(&v1alpha1.ListOptions{LabelQuery: []*v1alpha1.LabelQuery{{Terms: []*v1alpha1.LabelTerm{nil}}, nil}}), codes.OK},
		{"not exists", list(term(&v1alpha1.LabelTerm{Key: "k", Op: v1alpha1.LabelTerm_NOT_EXISTS})), codes.OK},
		{"a bad regexp", list(&v1alpha1.ListOptions{IdQuery: &v1alpha1.IDQuery{Regexp: "("}}), codes.InvalidArgument},
		{"an empty regexp", list(&v1alpha1.ListOptions{IdQuery: &v1alpha1.IDQuery{}}), codes.OK},

		{"watch without options", watch(nil, nil), codes.OK},
		{"watch of an empty id", watch(proto.String(""), nil), codes.OK},
		{"watch of one with contents", watch(proto.String("mine"), &v1alpha1.WatchOptions{BootstrapContents: true}), codes.Unimplemented},
		{"watch of one with labels", watch(proto.String("mine"), &v1alpha1.WatchOptions{LabelQuery: []*v1alpha1.LabelQuery{{}}}), codes.Unimplemented},
		{"watch of one, aggregated", watch(proto.String("mine"), &v1alpha1.WatchOptions{Aggregated: true, BootstrapBookmark: true}), codes.OK},
		{"watch with a bad bookmark", watch(nil, &v1alpha1.WatchOptions{StartFromBookmark: []byte("x")}), codes.FailedPrecondition},
		{"watch of one with a bad bookmark", watch(proto.String("mine"), &v1alpha1.WatchOptions{StartFromBookmark: []byte{}}), codes.FailedPrecondition},
		{"watch with a negative tail", watch(nil, &v1alpha1.WatchOptions{TailEvents: -1}), codes.InvalidArgument},
		{"watch with contents and tail", watch(nil, &v1alpha1.WatchOptions{TailEvents: 1, BootstrapContents: true}), codes.InvalidArgument},
		{"watch with a bad regexp", watch(nil, &v1alpha1.WatchOptions{IdQuery: &v1alpha1.IDQuery{Regexp: "["}}), codes.InvalidArgument},
	} {
		if err := tt.call(); status.Code(err) != tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestOldClient(t *testing.T) {
	st := memory.New()
	client := dial(t, st)

	stream, err := client.Watch(t.Context(), &v1alpha1.WatchRequest{
		Namespace: "n", Type: itemType, Options: &v1alpha1.WatchOptions{BootstrapContents: true, BootstrapBookmark: true},
	})
	ok(t, err)

	_, err = stream.Recv()
	ok(t, err)
	ok(t, st.Create(t.Context(), conformance.NewItem("n", "a", "")))

	var got []v1alpha1.EventType

	for len(got) < 2 {
		msg, err := stream.Recv()
		ok(t, err)

		for _, ev := range msg.GetEvent() {
			got = append(got, ev.GetEventType())
		}
	}

	if diff := cmp.Diff([]v1alpha1.EventType{v1alpha1.EventType_NOOP, v1alpha1.EventType_CREATED}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
