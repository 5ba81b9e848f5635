// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/internal/wire"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// apiVersion is the version of watch events: version 1 has Bootstrapped and Errored.
const apiVersion = 1

// Watch implements state.State.
func (s *State) Watch(ctx context.Context, ptr resource.Pointer, ch chan<- state.Event, opts ...state.WatchOption) error {
	o := state.Apply(opts)

	w := &watch{
		state: s, ptr: ptr, single: true,
		send: func(ctx context.Context, events []state.Event) bool { return sendEach(ctx, ch, events) },
		req: &v1alpha1.WatchRequest{
			Namespace: ptr.Namespace, Type: ptr.Type, Id: &ptr.ID, ApiVersion: apiVersion,
			Options: &v1alpha1.WatchOptions{TailEvents: int32(o.TailEvents), StartFromBookmark: o.StartFromBookmark},
		},
		showProgress: o.Progress,
		tracking:     o.TailEvents == 0 && o.StartFromBookmark == nil,
	}

	return w.start(ctx)
}

// WatchKind implements state.State.
func (s *State) WatchKind(ctx context.Context, kind resource.Kind, ch chan<- state.Event, opts ...state.WatchKindOption) error {
	return s.watchKind(ctx, kind, false, opts, func(ctx context.Context, events []state.Event) bool { return sendEach(ctx, ch, events) })
}

// WatchKindAggregated implements state.State.
func (s *State) WatchKindAggregated(ctx context.Context, kind resource.Kind, ch chan<- []state.Event, opts ...state.WatchKindOption) error {
	return s.watchKind(ctx, kind, true, opts, func(ctx context.Context, events []state.Event) bool {
		select {
		case ch <- events:
			return true
		case <-ctx.Done():
			return false
		}
	})
}

func sendEach(ctx context.Context, ch chan<- state.Event, events []state.Event) bool {
	for i := range events {
		select {
		case ch <- events[i]:
		case <-ctx.Done():
			return false
		}
	}

	return true
}

func (s *State) watchKind(ctx context.Context, kind resource.Kind, aggregated bool, opts []state.WatchKindOption,
	send func(context.Context, []state.Event) bool,
) error {
	o := state.Apply(opts)

	// To resume, the watch needs a bookmark before the first event. The reader gets it only if it requested one.
	placed := o.TailEvents == 0 && o.StartFromBookmark == nil

	w := &watch{
		state: s, ptr: kind.Pointer(""), send: send,
		req: &v1alpha1.WatchRequest{
			Namespace: kind.Namespace, Type: kind.Type, ApiVersion: apiVersion,
			Options: &v1alpha1.WatchOptions{
				BootstrapContents: o.BootstrapContents, BootstrapBookmark: o.BootstrapBookmark || placed,
				TailEvents: int32(o.TailEvents), StartFromBookmark: o.StartFromBookmark,
				LabelQuery: labelQueries(o.LabelQueries), IdQuery: idQuery(o.IDQuery), Aggregated: aggregated,
			},
		},
		showNoop: o.BootstrapBookmark, showProgress: o.Progress,
		tracking: o.BootstrapContents,
	}

	return w.start(ctx)
}

// watch is one watch, over any number of successive connections.
type watch struct {
	state  *State
	req    *v1alpha1.WatchRequest
	ptr    resource.Pointer
	single bool
	send   func(context.Context, []state.Event) bool

	showNoop     bool           // send the next Noop: the reader requested it
	showProgress bool           // send all other Noops
	bookmark     state.Bookmark // of the last event sent; nil before there is one
	failures     int            // since the last event

	// The watch of one resource records the version that its reader has: it can begin again without a bookmark.
	known bool
	last  resource.Resource // nil if it does not exist

	// While there is no bookmark, the watch records what it has sent. If the connection breaks, the watch begins again,
	// and only the difference is sent.
	tracking bool
	sent     map[string]resource.Resource
	again    map[string]bool // ids seen since it began again; nil in the first attempt
}

type watchStream = grpc.ServerStreamingClient[v1alpha1.WatchResponse]

func (w *watch) start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)

	stream, err := w.connect(ctx)
	if err != nil {
		cancel()

		return errorOf("watch", w.ptr, err)
	}

	go func() {
		defer cancel()

		w.run(ctx, stream)
	}()

	return nil
}

// connect opens the stream and waits for the empty message with which the server confirms the watch.
func (w *watch) connect(ctx context.Context) (watchStream, error) {
	stream, err := w.state.client.Watch(wire.Accepting(ctx, wire.Progress, wire.LargeMessages), w.req, large)
	if err != nil {
		return nil, err
	}

	if _, err := stream.Recv(); err != nil {
		return nil, err
	}

	return stream, nil
}

func (w *watch) run(ctx context.Context, stream watchStream) {
	for {
		err := w.follow(ctx, stream)

		for {
			if ctx.Err() != nil || errors.Is(err, errEnded) {
				return
			}

			if w.state.once || !w.worthRetrying(err) {
				w.fail(ctx, errorOf("watch", w.ptr, err))

				return
			}

			select {
			case <-ctx.Done():
				return
			case <-time.After(min(firstDelay<<min(w.failures, 10), lastDelay)):
			}

			w.failures++
			w.resume()

			if stream, err = w.connect(ctx); err == nil {
				break
			}
		}
	}
}

const (
	firstDelay = 50 * time.Millisecond
	lastDelay  = 5 * time.Second

	// mostFailures is how often in a row a watch is started again after an error of the server or an event.
	mostFailures = 6
)

// worthRetrying reports whether another attempt may succeed: after a failure of the connection or the server, but not after
// an answer, or a failure that will repeat.
func (w *watch) worthRetrying(err error) bool {
	switch status.Code(err) { // other errors may be temporary
	case codes.Unavailable:
		return true
	case codes.FailedPrecondition:
		return w.beginAgain()
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.Unauthenticated,
		codes.OutOfRange, codes.Unimplemented:
		return false
	default:
		return w.failures < mostFailures && !errors.Is(err, errDecode)
	}
}

var (
	errEnded  = errors.New("the watch has ended")
	errDecode = errors.New("event cannot be decoded")
)

// follow passes events on until the stream breaks.
func (w *watch) follow(ctx context.Context, stream watchStream) error {
	for {
		res, err := stream.Recv()
		if err != nil {
			return err
		}

		events := make([]state.Event, 0, len(res.GetEvent()))

		for _, in := range res.GetEvent() {
			ev, err := w.eventOf(in)
			if err != nil {
				return fmt.Errorf("watch %s: %w: %w", w.ptr, errDecode, err)
			}

			w.failures = 0

			if ev.Bookmark != nil {
				w.bookmark = ev.Bookmark
			}

			events = w.keep(events, ev)
		}

		if len(events) > 0 && !w.send(ctx, events) {
			return errEnded
		}

		if n := len(events); n > 0 && events[n-1].Type == state.Errored {
			return errEnded
		}
	}
}

func (w *watch) eventOf(in *v1alpha1.Event) (ev state.Event, err error) {
	if t := in.GetEventType(); t < 0 || t > v1alpha1.EventType_NOOP {
		return ev, fmt.Errorf("event type %d is not known", t)
	}

	ev.Type = state.EventType(in.GetEventType())
	ev.Bookmark = in.Bookmark

	if in.Error != nil {
		ev.Error = errors.New(in.GetError())
	}

	if in.GetResource() == nil {
		if ev.Type != state.Errored {
			return ev, errors.New("event without a resource")
		}

		ev.Resource = resource.NewTombstone(w.ptr)

		return ev, nil
	}

	if ev.Resource, err = w.state.eventResource(ev.Type, in.GetResource()); err != nil {
		return ev, err
	}

	if in.GetOld() != nil && ev.Type == state.Updated {
		ev.Old, err = w.state.resourceOf(in.GetOld())
	}

	return ev, err
}

// eventResource reads the resource of an event; one with an undefined version is a tombstone.
func (s *State) eventResource(typ state.EventType, in *v1alpha1.Resource) (resource.Resource, error) {
	if md := in.GetMetadata(); typ > state.Destroyed || typ == state.Destroyed && md.GetVersion() == "undefined" {
		return resource.NewTombstone(resource.Pointer{Namespace: md.GetNamespace(), Type: md.GetType(), ID: md.GetId()}), nil
	}

	return s.resourceOf(in)
}

// fail ends the watch with an error.
func (w *watch) fail(ctx context.Context, err error) {
	w.send(ctx, []state.Event{{Type: state.Errored, Resource: resource.NewTombstone(w.ptr), Error: err}})
}
