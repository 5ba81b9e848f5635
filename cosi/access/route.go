// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Route returns a state that calls pick for each call, and passes the call on to the state that pick returns. An error of
// pick refuses the call and is returned as it is. The returned state is a state.Notifier; Notify returns Unsupported if the
// picked state cannot notify.
func Route(pick func(ctx context.Context, a Attempt) (state.State, error)) state.State {
	return router(pick)
}

type router func(ctx context.Context, a Attempt) (state.State, error)

var _ state.Notifier = router(nil)

func (r router) write(ctx context.Context, verb Verb, op string, ptr resource.Pointer, opts []state.WriteOption) (state.State, error) {
	return r(ctx, Attempt{Pointer: ptr, Verb: verb, Op: op, Options: opts})
}

// Get implements state.State.
func (r router) Get(ctx context.Context, ptr resource.Pointer, opts ...state.GetOption) (resource.Resource, error) {
	st, err := r(ctx, Attempt{Pointer: ptr, Verb: Get, Op: "get"})
	if err != nil {
		return nil, err
	}

	return st.Get(ctx, ptr, opts...)
}

// List implements state.State.
func (r router) List(ctx context.Context, kind resource.Kind, opts ...state.ListOption) ([]resource.Resource, error) {
	st, err := r(ctx, Attempt{Pointer: kind.Pointer(""), Verb: List, Op: "list"})
	if err != nil {
		return nil, err
	}

	return st.List(ctx, kind, opts...)
}

// watch picks the state for the watch of a resource, or of a kind.
func (r router) watch(ctx context.Context, ptr resource.Pointer) (state.State, error) {
	return r(ctx, Attempt{Pointer: ptr, Verb: Watch, Op: "watch"})
}

// Watch implements state.State.
func (r router) Watch(ctx context.Context, ptr resource.Pointer, ch chan<- state.Event, opts ...state.WatchOption) error {
	st, err := r.watch(ctx, ptr)
	if err != nil {
		return err
	}

	return st.Watch(ctx, ptr, ch, opts...)
}

// WatchKind implements state.State.
func (r router) WatchKind(ctx context.Context, kind resource.Kind, ch chan<- state.Event, opts ...state.WatchKindOption) error {
	st, err := r.watch(ctx, kind.Pointer(""))
	if err != nil {
		return err
	}

	return st.WatchKind(ctx, kind, ch, opts...)
}

// WatchKindAggregated implements state.State.
func (r router) WatchKindAggregated(ctx context.Context, kind resource.Kind, ch chan<- []state.Event, opts ...state.WatchKindOption) error {
	st, err := r.watch(ctx, kind.Pointer(""))
	if err != nil {
		return err
	}

	return st.WatchKindAggregated(ctx, kind, ch, opts...)
}

// WatchFor implements state.State.
func (r router) WatchFor(ctx context.Context, ptr resource.Pointer, conditions ...state.Condition) (resource.Resource, error) {
	st, err := r.watch(ctx, ptr)
	if err != nil {
		return nil, err
	}

	return st.WatchFor(ctx, ptr, conditions...)
}

// Notify implements state.Notifier.
func (r router) Notify(ctx context.Context, kind resource.Kind, fn func(*state.Event)) error {
	st, err := r.watch(ctx, kind.Pointer(""))
	if err != nil {
		return err
	}

	return state.Notify(ctx, st, kind, fn)
}

// Create implements state.State.
func (r router) Create(ctx context.Context, res resource.Resource, opts ...state.WriteOption) error {
	st, err := r.write(ctx, Create, "create", res.Metadata().Pointer(), opts)
	if err != nil {
		return err
	}

	return st.Create(ctx, res, opts...)
}

// Update implements state.State.
func (r router) Update(ctx context.Context, res resource.Resource, opts ...state.WriteOption) error {
	st, err := r.write(ctx, Update, "update", res.Metadata().Pointer(), opts)
	if err != nil {
		return err
	}

	return st.Update(ctx, res, opts...)
}

// Modify implements state.State. A caller that may update but not create modifies what exists.
func (r router) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	ptr := empty.Metadata().Pointer()

	st, err := r.write(ctx, Update, "modify", ptr, opts)
	if err != nil {
		return nil, err
	}

	_, denied := r.write(ctx, Create, "modify", ptr, opts)
	if denied == nil {
		return st.Modify(ctx, empty, fn, opts...)
	}

	if _, err := st.Get(ctx, ptr); state.IsNotFound(err) {
		return nil, denied
	}

	return st.UpdateWithConflicts(ctx, ptr, fn, opts...)
}

// UpdateWithConflicts implements state.State.
func (r router) UpdateWithConflicts(ctx context.Context, ptr resource.Pointer, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	st, err := r.write(ctx, Update, "modify", ptr, opts)
	if err != nil {
		return nil, err
	}

	return st.UpdateWithConflicts(ctx, ptr, fn, opts...)
}

// Destroy implements state.State.
func (r router) Destroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	st, err := r.write(ctx, Destroy, "destroy", ptr, opts)
	if err != nil {
		return err
	}

	return st.Destroy(ctx, ptr, opts...)
}

// Teardown implements state.State.
func (r router) Teardown(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) (bool, error) {
	st, err := r.write(ctx, Destroy, "teardown", ptr, opts)
	if err != nil {
		return false, err
	}

	return st.Teardown(ctx, ptr, opts...)
}

// TeardownAndDestroy implements state.State.
func (r router) TeardownAndDestroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	st, err := r.write(ctx, Destroy, "teardown and destroy", ptr, opts)
	if err != nil {
		return err
	}

	return st.TeardownAndDestroy(ctx, ptr, opts...)
}

// AddFinalizer implements state.State.
func (r router) AddFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	st, err := r.write(ctx, Update, "add finalizer", ptr, nil)
	if err != nil {
		return err
	}

	return st.AddFinalizer(ctx, ptr, finalizers...)
}

// RemoveFinalizer implements state.State.
func (r router) RemoveFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	st, err := r.write(ctx, Update, "remove finalizer", ptr, nil)
	if err != nil {
		return err
	}

	return st.RemoveFinalizer(ctx, ptr, finalizers...)
}
