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
	return d.relay(ctx, ch, func(in chan<- state.Event) error { return d.State.Watch(ctx, ptr, in, opts...) })
}

// WatchKind implements state.State.
func (d *Detector) WatchKind(ctx context.Context, kind resource.Kind, ch chan<- state.Event, opts ...state.WatchKindOption) error {
	return d.relay(ctx, ch, func(in chan<- state.Event) error { return d.State.WatchKind(ctx, kind, in, opts...) })
}

// WatchKindAggregated implements state.State.
func (d *Detector) WatchKindAggregated(ctx context.Context, kind resource.Kind, ch chan<- []state.Event, opts ...state.WatchKindOption) error {
	reader := caller()

	return relay(ctx, ch, func(events []state.Event) (last bool) {
		for i := range events {
			d.noteEvent(&events[i], reader)
		}

		return len(events) > 0 && events[len(events)-1].Type == state.Errored
	}, func(in chan<- []state.Event) error { return d.State.WatchKindAggregated(ctx, kind, in, opts...) })
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

// Notify implements state.Notifier, as far as the state does.
func (d *Detector) Notify(ctx context.Context, kind resource.Kind, fn func(*state.Event)) error {
	notifier, ok := d.State.(state.Notifier)
	if !ok {
		ptr := resource.Pointer{Namespace: kind.Namespace, Type: kind.Type}

		return state.NewError(state.Unsupported, "notify", ptr, "the state can not notify")
	}

	reader := caller()

	return notifier.Notify(ctx, kind, func(ev *state.Event) {
		d.noteEvent(ev, reader)
		fn(ev)
	})
}

func (d *Detector) relay(ctx context.Context, out chan<- state.Event, watch func(chan<- state.Event) error) error {
	reader := caller()

	return relay(ctx, out, func(ev state.Event) (last bool) {
		d.noteEvent(&ev, reader)

		return ev.Type == state.Errored
	}, watch)
}

// relay notes what comes out of a watch, on its way to the reader.
func relay[T any](ctx context.Context, out chan<- T, note func(T) (last bool), watch func(chan<- T) error) error {
	in := make(chan T)
	if err := watch(in); err != nil {
		return err
	}

	go func() {
		for {
			var x T

			select {
			case x = <-in:
			case <-ctx.Done():
				return
			}

			last := note(x)

			select {
			case out <- x:
			case <-ctx.Done():
				return
			}

			if last {
				return
			}
		}
	}()

	return nil
}
