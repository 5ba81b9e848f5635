// SPDX-License-Identifier: Apache-2.0

// Package remote is a state that lives in another process, behind the gRPC service cosi.resource.State:
//
//	conn, err := remote.Dial("unix:///run/state.sock", grpc.WithTransportCredentials(insecure.NewCredentials()))
//	st := remote.New(conn)
//
// A watch outlives its connection: when the connection breaks, the watch resumes at the last bookmark, and no event is lost
// or repeated. When the server no longer has the events after the bookmark, the watch of one resource that has had
// an event continues with the difference. Other watches end, with an Errored event whose error satisfies
// state.IsInvalidBookmark. Our servers keep the bookmarks of quiet watches valid (state.WithProgress), also that of the caller
// (WithStartFromBookmark) until the first event. A watch that breaks repeatedly at the same place, for another
// reason than a missing connection, ends with that reason.
package remote

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/internal/wire"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// State is a state behind a connection.
type State struct {
	client v1alpha1.StateClient
	opaque bool
	once   bool

	noTeardown atomic.Bool // the server is too old to have Teardown
}

var _ state.State = (*State)(nil)

// large allows larger messages than gRPC's default: a resource has two forms, and an event also has the previous version.
var large = grpc.MaxCallRecvMsgSize(wire.MaxMessage)

// Option of New.
type Option func(*State)

// WithOpaque leaves all specs undecoded, even of registered types: every resource is a *resource.Opaque with the YAML that
// the server sent.
func WithOpaque() Option { return func(s *State) { s.opaque = true } }

// WithoutRetry makes a watch end with an Errored event when its connection breaks.
func WithoutRetry() Option { return func(s *State) { s.once = true } }

// New returns the state behind a connection.
func New(conn grpc.ClientConnInterface, opts ...Option) *State {
	s := &State{client: v1alpha1.NewStateClient(conn)}

	for _, opt := range opts {
		opt(s)
	}

	return s
}

// resourceOf reads a resource, which is then immutable.
func (s *State) resourceOf(in *v1alpha1.Resource) (resource.Resource, error) {
	r, err := wire.ResourceOf(in, s.opaque)
	if err != nil {
		return nil, err
	}

	r.Metadata().Seal()

	return r, nil
}

// Get implements state.State.
func (s *State) Get(ctx context.Context, ptr resource.Pointer, _ ...state.GetOption) (resource.Resource, error) {
	res, err := s.client.Get(ctx, &v1alpha1.GetRequest{Namespace: ptr.Namespace, Type: ptr.Type, Id: ptr.ID}, large)
	if err != nil {
		return nil, errorOf("get", ptr, err)
	}

	return s.resourceOf(res.GetResource())
}

// List implements state.State.
func (s *State) List(ctx context.Context, kind resource.Kind, opts ...state.ListOption) ([]resource.Resource, error) {
	o := state.Apply(opts)

	ptr := kind.Pointer("")

	stream, err := s.client.List(ctx, &v1alpha1.ListRequest{
		Namespace: kind.Namespace, Type: kind.Type,
		Options: &v1alpha1.ListOptions{LabelQuery: labelQueries(o.LabelQueries), IdQuery: idQuery(o.IDQuery)},
	}, large)
	if err != nil {
		return nil, errorOf("list", ptr, err)
	}

	var out []resource.Resource

	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}

		if err != nil {
			return nil, errorOf("list", ptr, err)
		}

		r, err := s.resourceOf(res.GetResource())
		if err != nil {
			return nil, err
		}

		out = append(out, r)
	}
}

// Create implements state.State.
func (s *State) Create(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	o := state.NewWriteOptions(opts...)
	ptr := r.Metadata().Pointer()
	sent := r

	// The resource may have been created before, and is now created again.
	if !r.Metadata().Created().Equal(o.Created) {
		sent = r.DeepCopy()
		sent.Metadata().SetCreated(o.Created)
	}

	req := &v1alpha1.CreateRequest{Options: &v1alpha1.CreateOptions{Owner: o.Owner}}
	if err := putInto(req, 1, sent); err != nil {
		return err
	}

	res, err := s.client.Create(ctx, req, large)
	if err != nil {
		return errorOf("create", ptr, err)
	}

	return writeBack(r, res.GetResource())
}

// Update implements state.State.
func (s *State) Update(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	o := state.NewWriteOptions(opts...)
	ptr := r.Metadata().Pointer()

	req := &v1alpha1.UpdateRequest{Options: &v1alpha1.UpdateOptions{Owner: o.Owner}}
	if o.ExpectedPhase != nil {
		req.Options.ExpectedPhase = proto.String(o.ExpectedPhase.String())
	}

	if err := putInto(req, 2, r); err != nil {
		return err
	}

	res, err := s.client.Update(ctx, req, large)
	if err != nil {
		return errorOf("update", ptr, err)
	}

	return writeBack(r, res.GetResource())
}

// putInto puts the resource into a field of the request. It reuses the bytes of an earlier encoding.
func putInto(req proto.Message, field protowire.Number, r resource.Resource) error {
	frame, err := resource.WireFrame(r)
	if err != nil {
		return err
	}

	if field != 1 {
		frame = append(protowire.AppendTag(make([]byte, 0, len(frame)), field, protowire.BytesType), frame[protowire.SizeTag(1):]...)
	}

	req.ProtoReflect().SetUnknown(frame)

	return nil
}

// writeBack copies version, owner and times of the stored resource to the caller's.
func writeBack(r resource.Resource, stored *v1alpha1.Resource) error {
	md := r.Metadata()
	if md.Sealed() {
		return nil
	}

	got, err := wire.MetadataOf(stored.GetMetadata())
	if err != nil {
		return err
	}

	state.WriteBack(md, &got)

	return nil
}

// Destroy implements state.State.
func (s *State) Destroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	o := state.NewWriteOptions(opts...)

	_, err := s.client.Destroy(ctx, &v1alpha1.DestroyRequest{
		Namespace: ptr.Namespace, Type: ptr.Type, Id: ptr.ID, Options: &v1alpha1.DestroyOptions{Owner: o.Owner},
	})
	if err != nil {
		return errorOf("destroy", ptr, err)
	}

	return nil
}

// Teardown implements state.State.
func (s *State) Teardown(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) (bool, error) {
	o := state.NewWriteOptions(opts...)

	if !s.noTeardown.Load() {
		res, err := s.client.Teardown(ctx, &v1alpha1.TeardownRequest{
			Namespace: ptr.Namespace, Type: ptr.Type, Id: ptr.ID, Options: &v1alpha1.TeardownOptions{Owner: o.Owner},
		})

		if status.Code(err) != codes.Unimplemented {
			if err != nil {
				return false, errorOf("teardown", ptr, err)
			}

			return res.GetDestroyReady(), nil
		}

		s.noTeardown.Store(true)
	}

	return state.TeardownByUpdate(ctx, s, ptr, opts...)
}

// TeardownAndDestroy implements state.State.
func (s *State) TeardownAndDestroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	o := state.NewWriteOptions(opts...)

	if !s.noTeardown.Load() {
		_, err := s.client.TeardownAndDestroy(ctx, &v1alpha1.TeardownAndDestroyRequest{
			Namespace: ptr.Namespace, Type: ptr.Type, Id: ptr.ID, Options: &v1alpha1.TeardownAndDestroyOptions{Owner: o.Owner},
		})

		if status.Code(err) != codes.Unimplemented {
			if err != nil {
				return errorOf("teardown and destroy", ptr, err)
			}

			return nil
		}

		s.noTeardown.Store(true)
	}

	return state.TeardownAndWait(ctx, s, ptr, opts...)
}
