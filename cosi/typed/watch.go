// SPDX-License-Identifier: Apache-2.0

package typed

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Event of a watch. Resource is nil in a Destroyed event at the start, which means that the resource does not exist, and in
// Bootstrapped, Errored and Noop.
type Event[S resource.Spec] struct {
	Resource *resource.Typed[S]
	// Old is the previous version; only in Updated.
	Old *resource.Typed[S]
	// ID of the resource, also if Resource is nil.
	ID string
	// Error is the reason why the watch ended; only in Errored.
	Error    error
	Bookmark state.Bookmark
	Type     state.EventType
}

// Watch is Watch of state.Watcher with typed events.
func Watch[S resource.Spec](ctx context.Context, w state.Watcher, namespace, id string, ch chan<- Event[S], opts ...state.WatchOption) error {
	return state.Relay(ctx, ch, eventOf[S], func(ctx context.Context, events chan<- state.Event) error {
		return w.Watch(ctx, resource.PointerOf[S](namespace, id), events, opts...)
	})
}

// WatchKind is WatchKind of state.Watcher with typed events.
func WatchKind[S resource.Spec](ctx context.Context, w state.Watcher, namespace string, ch chan<- Event[S], opts ...state.WatchKindOption) error {
	return state.Relay(ctx, ch, eventOf[S], func(ctx context.Context, events chan<- state.Event) error {
		return w.WatchKind(ctx, resource.KindOf[S](namespace), events, opts...)
	})
}

// WatchFor waits until the resource exists and satisfies the condition, and returns it. A nil condition is always satisfied.
func WatchFor[S resource.Spec](ctx context.Context, w state.Watcher, namespace, id string, condition func(*resource.Typed[S]) bool) (*resource.Typed[S], error) {
	r, err := w.WatchFor(ctx, resource.PointerOf[S](namespace, id), state.ResourceIs(func(r resource.Resource) bool {
		t, err := As[S](r)

		// A resource of another type ends the wait, and is refused below.
		return err != nil || condition == nil || condition(t)
	}), state.EventTypeIs(state.Created, state.Updated))
	if err != nil {
		return nil, err
	}

	return As[S](r)
}

// eventOf returns the typed event, and whether it ends the watch. A resource of another type becomes an Errored event.
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
