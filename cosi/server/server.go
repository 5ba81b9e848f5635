// SPDX-License-Identifier: Apache-2.0

// Package server offers a state over gRPC, as the service cosi.resource.State:
//
//	g := grpc.NewServer(server.Options()...)
//	v1alpha1.RegisterStateServer(g, server.New(st))
//
// The server itself checks no access: wrap the state with package access first.
//
// Each immutable version of a resource is encoded once (see resource.WireFrame), however many clients receive it. Answers and
// events contain these bytes as unknown fields of the generated messages, which are marshalled unchanged. On the wire there is
// no difference, but a server-side interceptor that inspects resources finds them in the unknown fields. A change that many
// watches receive is one message for all of them.
package server

import (
	"context"

	"google.golang.org/grpc"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Server is a v1alpha1.StateServer.
type Server struct {
	v1alpha1.UnimplementedStateServer

	pick   func(ctx context.Context) (state.State, error)
	shared shared
}

// New returns a server of the state.
func New(st state.State) *Server {
	return NewFor(func(context.Context) (state.State, error) { return st, nil })
}

// NewFor returns a server that calls pick for the state of each call. So each client, identified by the context of its
// connection, can get a state of its own: see access.AsController. An error, preferably a gRPC status, refuses the call.
func NewFor(pick func(ctx context.Context) (state.State, error)) *Server { return &Server{pick: pick} }

var _ v1alpha1.StateServer = (*Server)(nil)

// ofKind is any request.
type ofKind interface {
	GetNamespace() string
	GetType() string
}

func kindOf(r ofKind) resource.Kind {
	return resource.Kind{Namespace: r.GetNamespace(), Type: r.GetType()}
}

// addressed is any request for one resource.
type addressed interface {
	ofKind
	GetId() string
}

func pointerOf(r addressed) resource.Pointer { return kindOf(r).Pointer(r.GetId()) }

// Get implements v1alpha1.StateServer.
func (s *Server) Get(ctx context.Context, req *v1alpha1.GetRequest) (*v1alpha1.GetResponse, error) {
	st, err := s.pick(ctx)
	if err != nil {
		return nil, readError(err)
	}

	r, err := st.Get(ctx, pointerOf(req), state.WithCurrent())
	if err != nil {
		return nil, readError(err)
	}

	res := &v1alpha1.GetResponse{}

	return res, frameInto(res, r)
}

// List implements v1alpha1.StateServer.
func (s *Server) List(req *v1alpha1.ListRequest, stream grpc.ServerStreamingServer[v1alpha1.ListResponse]) error {
	st, err := s.pick(stream.Context())
	if err != nil {
		return readError(err)
	}

	labels, id, err := queriesOf(req.GetOptions())
	if err != nil {
		return err
	}

	var opts []state.ListOption // without options a list is faster

	if len(labels) > 0 || id != nil {
		opts = append(opts, func(o *state.ListOptions) { o.LabelQueries, o.IDQuery = labels, id })
	}

	items, err := st.List(stream.Context(), kindOf(req), opts...)
	if err != nil {
		return readError(err)
	}

	for _, r := range items {
		res := &v1alpha1.ListResponse{}
		if err := frameInto(res, r); err != nil {
			return err
		}

		if err := stream.Send(res); err != nil {
			return err
		}
	}

	return nil
}

// Create implements v1alpha1.StateServer.
func (s *Server) Create(ctx context.Context, req *v1alpha1.CreateRequest) (*v1alpha1.CreateResponse, error) {
	st, err := s.pick(ctx)
	if err != nil {
		return nil, readError(err)
	}

	r, err := resourceOf(req.GetResource())
	if err != nil {
		return nil, malformed(err)
	}

	// Clients of the reference implementation set the time of creation themselves, and send it with later updates.
	if err := st.Create(ctx, r, state.WithOwner(req.GetOptions().GetOwner()), state.WithCreated(r.Metadata().Created())); err != nil {
		return nil, createError(err)
	}

	res := &v1alpha1.CreateResponse{}

	return res, frameInto(res, r)
}

// Update implements v1alpha1.StateServer.
func (s *Server) Update(ctx context.Context, req *v1alpha1.UpdateRequest) (*v1alpha1.UpdateResponse, error) {
	st, err := s.pick(ctx)
	if err != nil {
		return nil, readError(err)
	}

	r, err := resourceOf(req.GetNewResource())
	if err != nil {
		return nil, malformedUpdate(err)
	}

	opts := []state.WriteOption{state.WithOwner(req.GetOptions().GetOwner()), state.WithAnyPhase()}

	if o := req.GetOptions(); o != nil && o.ExpectedPhase != nil {
		phase, err := resource.ParsePhase(o.GetExpectedPhase())
		if err != nil {
			return nil, malformedUpdate(err)
		}

		opts = append(opts, state.WithExpectedPhase(phase))
	}

	if err := st.Update(ctx, r, opts...); err != nil {
		return nil, updateError(err)
	}

	res := &v1alpha1.UpdateResponse{}

	return res, frameInto(res, r)
}

// Destroy implements v1alpha1.StateServer.
func (s *Server) Destroy(ctx context.Context, req *v1alpha1.DestroyRequest) (*v1alpha1.DestroyResponse, error) {
	st, err := s.pick(ctx)
	if err != nil {
		return nil, readError(err)
	}

	if err := st.Destroy(ctx, pointerOf(req), state.WithOwner(req.GetOptions().GetOwner())); err != nil {
		return nil, writeError(err)
	}

	return &v1alpha1.DestroyResponse{}, nil
}

// Teardown implements v1alpha1.StateServer.
func (s *Server) Teardown(ctx context.Context, req *v1alpha1.TeardownRequest) (*v1alpha1.TeardownResponse, error) {
	st, err := s.pick(ctx)
	if err != nil {
		return nil, readError(err)
	}

	ready, err := st.Teardown(ctx, pointerOf(req), state.WithOwner(req.GetOptions().GetOwner()))
	if err != nil {
		return nil, writeError(err)
	}

	return &v1alpha1.TeardownResponse{DestroyReady: ready}, nil
}

// TeardownAndDestroy implements v1alpha1.StateServer.
func (s *Server) TeardownAndDestroy(ctx context.Context, req *v1alpha1.TeardownAndDestroyRequest) (*v1alpha1.TeardownAndDestroyResponse, error) {
	st, err := s.pick(ctx)
	if err != nil {
		return nil, readError(err)
	}

	if err := st.TeardownAndDestroy(ctx, pointerOf(req), state.WithOwner(req.GetOptions().GetOwner())); err != nil {
		return nil, writeError(err)
	}

	return &v1alpha1.TeardownAndDestroyResponse{}, nil
}
