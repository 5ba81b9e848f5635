// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/internal/wire"
	"github.com/seed-59268b81/talos/cosi/state"
)

// maxMessage is where a batch of events is split, well below the 4 MiB that clients accept by default.
const maxMessage = 1 << 20

type watchStream = grpc.ServerStreamingServer[v1alpha1.WatchResponse]

// Watch implements v1alpha1.StateServer. All pending events are sent in one message, whether the client requested aggregation
// or not: clients accept both.
func (s *Server) Watch(req *v1alpha1.WatchRequest, stream watchStream) error {
	ctx := stream.Context()

	next, err := s.subscribe(ctx, req)
	if err != nil {
		return err
	}

	// An empty message confirms that the watch is established.
	if err := stream.Send(&v1alpha1.WatchResponse{}); err != nil {
		return err
	}

	out := frames{stream: stream, old: req.GetApiVersion() < 1, most: wire.DefaultMessage}
	if wire.Accepts(ctx, wire.LargeMessages) {
		out.most = wire.MaxMessage
	}

	for {
		came, err := next()
		if err != nil {
			return status.FromContextError(err).Err()
		}

		events, unavailable := interrupted(came)

		if err := s.send(&out, events); err != nil {
			return err
		}

		if unavailable != nil {
			return readError(unavailable)
		}
	}
}

// interrupted returns the events before the end of a watch whose store is unavailable, and the reason. It ends the call, so that
// clients start the watch again where it ended. An Errored event would end it for good.
func interrupted(events []state.Event) ([]state.Event, error) {
	if last := len(events) - 1; last >= 0 && events[last].Type == state.Errored && state.IsUnavailable(events[last].Error) {
		return events[:last], events[last].Error
	}

	return events, nil
}

// send sends events at once.
func (s *Server) send(out *frames, events []state.Event) error {
	if len(events) == 1 && sharable(&events[0]) {
		res, err := s.shared.response(&events[0], out.most)
		if err != nil {
			return err
		}

		return out.stream.Send(res)
	}

	for i := range events {
		if err := out.add(&events[i]); err != nil {
			return err
		}
	}

	return out.flush()
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

	if req.Id != nil {
		return subscribeOne(ctx, st, req)
	}

	ch := make(chan []state.Event)

	err = st.WatchKindAggregated(ctx, kindOf(req), ch, func(set *state.WatchKindOptions) {
		*set = state.WatchKindOptions{
			BootstrapContents: o.GetBootstrapContents(), BootstrapBookmark: o.GetBootstrapBookmark(),
			TailEvents: int(o.GetTailEvents()), StartFromBookmark: o.GetStartFromBookmark(),
			LabelQueries: labels, IDQuery: id, Progress: wire.Accepts(ctx, wire.Progress),
		}
	})
	if err != nil {
		return nil, readError(err)
	}

	return func() ([]state.Event, error) { return receive(ctx, ch) }, nil
}

func subscribeOne(ctx context.Context, st state.State, req *v1alpha1.WatchRequest) (func() ([]state.Event, error), error) {
	o := req.GetOptions()

	if o.GetBootstrapContents() || len(o.GetLabelQuery()) > 0 {
		return nil, status.Error(codes.Unimplemented, "the watch of one resource takes no bootstrap contents and no label query")
	}

	ch := make(chan state.Event)

	err := st.Watch(ctx, pointerOf(req), ch, func(set *state.WatchOptions) {
		*set = state.WatchOptions{
			TailEvents: int(o.GetTailEvents()), StartFromBookmark: o.GetStartFromBookmark(), Progress: wire.Accepts(ctx, wire.Progress),
		}
	})
	if err != nil {
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
