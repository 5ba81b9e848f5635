// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Get implements state.State.
func (d *Detector) Get(ctx context.Context, ptr resource.Pointer, opts ...state.GetOption) (resource.Resource, error) {
	r, err := d.State.Get(ctx, ptr, opts...)
	d.note(r, caller())

	return r, err
}

// List implements state.State.
func (d *Detector) List(ctx context.Context, kind resource.Kind, opts ...state.ListOption) ([]resource.Resource, error) {
	items, err := d.State.List(ctx, kind, opts...)
	reader := caller()

	for _, r := range items {
		d.note(r, reader)
	}

	return items, err
}

// Modify implements state.State.
func (d *Detector) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	r, err := d.State.Modify(ctx, empty, fn, opts...)
	d.note(r, caller())

	return r, err
}

// UpdateWithConflicts implements state.State.
func (d *Detector) UpdateWithConflicts(ctx context.Context, ptr resource.Pointer, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	r, err := d.State.UpdateWithConflicts(ctx, ptr, fn, opts...)
	d.note(r, caller())

	return r, err
}

// Watch implements state.State.
func (d *Detector) Watch(ctx context.Context, ptr resource.Pointer, ch chan<- state.Event, opts ...state.WatchOption) error {
	return d.relay(ctx, ch, func(ctx context.Context, in chan<- state.Event) error { return d.State.Watch(ctx, ptr, in, opts...) })
}

// WatchKind implements state.State.
func (d *Detector) WatchKind(ctx context.Context, kind resource.Kind, ch chan<- state.Event, opts ...state.WatchKindOption) error {
	return d.relay(ctx, ch, func(ctx context.Context, in chan<- state.Event) error {
		return d.State.WatchKind(ctx, kind, in, opts...)
	})
}

// WatchKindAggregated implements state.State.
func (d *Detector) WatchKindAggregated(ctx context.Context, kind resource.Kind, ch chan<- []state.Event, opts ...state.WatchKindOption) error {
	reader := caller()

	return state.Relay(ctx, ch, func(events []state.Event) ([]state.Event, bool) {
		for i := range events {
			d.noteEvent(&events[i], reader)
		}

		return events, len(events) > 0 && events[len(events)-1].Type == state.Errored
	}, func(ctx context.Context, in chan<- []state.Event) error {
		return d.State.WatchKindAggregated(ctx, kind, in, opts...)
	})
}

// WatchFor implements state.State.
func (d *Detector) WatchFor(ctx context.Context, ptr resource.Pointer, conditions ...state.Condition) (resource.Resource, error) {
	reader := caller()

	seen := func(ev state.Event) bool {
		d.noteEvent(&ev, reader)

		return true
	}

	return d.State.WatchFor(ctx, ptr, append([]state.Condition{seen}, conditions...)...)
}

// Notify implements state.Notifier. It is Unsupported if the state cannot notify.
func (d *Detector) Notify(ctx context.Context, kind resource.Kind, fn func(*state.Event)) error {
	reader := caller()

	return state.Notify(ctx, d.State, kind, func(ev *state.Event) {
		d.noteEvent(ev, reader)
		fn(ev)
	})
}

// relay notes the events of a watch and passes them on.
func (d *Detector) relay(ctx context.Context, out chan<- state.Event, watch func(context.Context, chan<- state.Event) error) error {
	reader := caller()

	return state.Relay(ctx, out, func(ev state.Event) (state.Event, bool) {
		d.noteEvent(&ev, reader)

		return ev, ev.Type == state.Errored
	}, watch)
}
