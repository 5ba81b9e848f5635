// SPDX-License-Identifier: Apache-2.0

package typed

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Event of a watch. Resource is nil of a Destroyed event that tells that there was none, and of those that carry none:
// Bootstrapped, Errored, Noop.
type Event[S resource.Spec] struct {
	Resource *resource.Typed[S]
	// Old is the version before; only of Updated.
	Old *resource.Typed[S]
	// ID of the resource, also of one of which nothing else is known.
	ID string
	// Error is why the watch ended; only of Errored.
	Error    error
	Bookmark state.Bookmark
	Type     state.EventType
}

// Watch is state.Watcher's for one resource.
func Watch[S resource.Spec](ctx context.Context, w state.Watcher, namespace, id string, ch chan<- Event[S], opts ...state.WatchOption) error {
	return state.Relay(ctx, ch, eventOf[S], func(ctx context.Context, events chan<- state.Event) error {
		return w.Watch(ctx, resource.PointerOf[S](namespace, id), events, opts...)
	})
}

// WatchKind is state.Watcher's for all resources of a kind.
func WatchKind[S resource.Spec](ctx context.Context, w state.Watcher, namespace string, ch chan<- Event[S], opts ...state.WatchKindOption) error {
	return state.Relay(ctx, ch, eventOf[S], func(ctx context.Context, events chan<- state.Event) error {
		return w.WatchKind(ctx, resource.KindOf[S](namespace), events, opts...)
	})
}

// WatchFor waits until the resource is there and satisfies the condition, which is nil for any, and returns it.
func WatchFor[S resource.Spec](ctx context.Context, w state.Watcher, namespace, id string, condition func(*resource.Typed[S]) bool) (*resource.Typed[S], error) {
	r, err := w.WatchFor(ctx, resource.PointerOf[S](namespace, id), state.ResourceIs(func(r resource.Resource) bool {
		t, err := As[S](r)

		// What is of another type is returned, and refused below.
		return err != nil || condition == nil || condition(t)
	}), state.EventTypeIs(state.Created, state.Updated))
	if err != nil {
		return nil, err
	}

	return As[S](r)
}

// eventOf returns the event typed, and whether the watch ends with it; one of another type than S is an Errored event.
func eventOf[S resource.Spec](ev state.Event) (out Event[S], last bool) {
	out = Event[S]{Error: ev.Error, Bookmark: ev.Bookmark, Type: ev.Type}
	if ev.Resource == nil {
		return out, ev.Type == state.Errored
	}

	out.ID = ev.Resource.Metadata().ID()

	if _, unknown := ev.Resource.(*resource.Tombstone); unknown {
		return out, ev.Type == state.Errored
	}

	var err error
	if out.Resource, err = As[S](ev.Resource); err == nil && ev.Old != nil {
		out.Old, err = As[S](ev.Old)
	}

	if err != nil {
		return Event[S]{Type: state.Errored, Error: err, ID: out.ID}, true
	}

	return out, ev.Type == state.Errored
}
