// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/internal/wire"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// maxMessage is where a batch of events is split, well below the 4 MiB that clients accept by default.
const maxMessage = 1 << 20

type watchStream = grpc.ServerStreamingServer[v1alpha1.WatchResponse]

// Watch implements v1alpha1.StateServer. All that is pending goes out in one message, whether the client asked for
// aggregation or not: clients take both.
func (s *Server) Watch(req *v1alpha1.WatchRequest, stream watchStream) error {
	ctx := stream.Context()

	next, err := s.subscribe(ctx, req)
	if err != nil {
		return err
	}

	// An empty message tells that the watch is established.
	if err := stream.Send(&v1alpha1.WatchResponse{}); err != nil {
		return err
	}

	out := frames{stream: stream, old: req.GetApiVersion() < 1, most: wire.DefaultMessage}
	if wire.Accepts(ctx, wire.LargeMessages) {
		out.most = wire.MaxMessage
	}

	for {
		events, err := next()
		if err != nil {
			return status.FromContextError(err).Err()
		}

		for i := range events {
			if err := out.add(&events[i]); err != nil {
				return err
			}
		}

		if err := out.flush(); err != nil {
			return err
		}
	}
}

// subscribe starts the watch and returns how to wait for its next events.
func (s *Server) subscribe(ctx context.Context, req *v1alpha1.WatchRequest) (func() ([]state.Event, error), error) {
	st, err := s.pick(ctx)
	if err != nil {
		return nil, readError(err)
	}

	o := req.GetOptions()

	labels, id, err := queriesOf(o)
	if err != nil {
		return nil, err
	}

	if o.GetTailEvents() < 0 {
		return nil, status.Errorf(codes.InvalidArgument, "tail_events is %d", o.GetTailEvents())
	}

	kind := resource.Kind{Namespace: req.GetNamespace(), Type: req.GetType()}

	if req.Id != nil {
		return subscribeOne(ctx, st, kind, req)
	}

	opts := []state.WatchKindOption{state.WithKindTailEvents(int(o.GetTailEvents()))}

	if o != nil && o.StartFromBookmark != nil {
		opts = append(opts, state.WithKindStartFromBookmark(o.GetStartFromBookmark()))
	}

	if o.GetBootstrapContents() {
		opts = append(opts, state.WithBootstrapContents())
	}

	if o.GetBootstrapBookmark() {
		opts = append(opts, state.WithBootstrapBookmark())
	}

	if wire.Accepts(ctx, wire.Progress) {
		opts = append(opts, state.WithProgress())
	}

	for _, q := range labels {
		opts = append(opts, state.WithKindLabelQuery(q.Terms...))
	}

	if id != nil {
		opts = append(opts, state.WithKindIDQuery(id))
	}

	ch := make(chan []state.Event)
	if err := st.WatchKindAggregated(ctx, kind, ch, opts...); err != nil {
		return nil, readError(err)
	}

	return func() ([]state.Event, error) { return receive(ctx, ch) }, nil
}

func subscribeOne(ctx context.Context, st state.State, kind resource.Kind, req *v1alpha1.WatchRequest) (func() ([]state.Event, error), error) {
	o := req.GetOptions()

	if o.GetBootstrapContents() || len(o.GetLabelQuery()) > 0 {
		return nil, status.Error(codes.Unimplemented, "the watch of one resource takes no bootstrap contents and no label query")
	}

	opts := []state.WatchOption{state.WithTailEvents(int(o.GetTailEvents()))}

	if o != nil && o.StartFromBookmark != nil {
		opts = append(opts, state.WithStartFromBookmark(o.GetStartFromBookmark()))
	}

	ch := make(chan state.Event)
	if err := st.Watch(ctx, resource.Pointer{Namespace: kind.Namespace, Type: kind.Type, ID: req.GetId()}, ch, opts...); err != nil {
		return nil, readError(err)
	}

	return func() ([]state.Event, error) {
		ev, err := receive(ctx, ch)

		return []state.Event{ev}, err
	}, nil
}

func receive[T any](ctx context.Context, ch <-chan T) (T, error) {
	select {
	case x := <-ch:
		return x, nil
	case <-ctx.Done():
		var none T

		return none, ctx.Err()
	}
}

// The fields of cosi.resource.Event and WatchResponse.
const (
	fieldEvent = 1

	fieldEventType = 2
	fieldOld       = 3
	fieldError     = 4
	fieldBookmark  = 5
)

// frames gathers events into messages. Each resource is copied from the bytes of its version.
type frames struct {
	stream watchStream
	old    bool // the client knows neither Bootstrapped nor Errored
	most   int  // bytes that the client takes
	buf    []byte
}

// envelope is more than an event needs beside its resources.
const envelope = 1 << 10

func (f *frames) add(ev *state.Event) error {
	if f.old && (ev.Type == state.Bootstrapped || ev.Type == state.Errored) {
		return nil
	}

	now, err := resource.WireFrame(ev.Resource)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}

	var before []byte

	if ev.Old != nil {
		if before, err = resource.WireFrame(ev.Old); err != nil {
			return status.Error(codes.Internal, err.Error())
		}
	}

	// Better an update from what the client knows anyhow than one that it can not receive.
	if len(now)+len(before)+envelope > f.most {
		before = nil
	}

	var reason string
	if ev.Error != nil {
		reason = ev.Error.Error()
	}

	size := len(now) + len(before)
	if ev.Type != state.Created {
		size += protowire.SizeTag(fieldEventType) + protowire.SizeVarint(uint64(ev.Type))
	}

	if ev.Error != nil {
		size += protowire.SizeTag(fieldError) + protowire.SizeBytes(len(reason))
	}

	if ev.Bookmark != nil {
		size += protowire.SizeTag(fieldBookmark) + protowire.SizeBytes(len(ev.Bookmark))
	}

	if len(f.buf) > 0 && len(f.buf)+size > maxMessage {
		if err := f.flush(); err != nil {
			return err
		}
	}

	b := protowire.AppendTag(f.buf, fieldEvent, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	b = append(b, now...)

	if ev.Type != state.Created {
		b = protowire.AppendVarint(protowire.AppendTag(b, fieldEventType, protowire.VarintType), uint64(ev.Type))
	}

	if before != nil {
		// The frame is for field 1, whose tag is one byte as well.
		b = protowire.AppendTag(b, fieldOld, protowire.BytesType)
		b = append(b, before[protowire.SizeTag(fieldEvent):]...)
	}

	if ev.Error != nil {
		b = protowire.AppendString(protowire.AppendTag(b, fieldError, protowire.BytesType), reason)
	}

	if ev.Bookmark != nil {
		b = protowire.AppendBytes(protowire.AppendTag(b, fieldBookmark, protowire.BytesType), ev.Bookmark)
	}

	f.buf = b

	return nil
}

func (f *frames) flush() error {
	if len(f.buf) == 0 {
		return nil
	}

	res := &v1alpha1.WatchResponse{}
	res.ProtoReflect().SetUnknown(f.buf)
	f.buf = nil // it may be on its way still

	return f.stream.Send(res)
}
