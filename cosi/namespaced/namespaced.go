// SPDX-License-Identifier: Apache-2.0

// Package namespaced makes one state of several: each namespace lives in one of them. So what is of this machine stays
// in memory, and what is of the whole cluster in etcd, side by side under one API:
//
//	st := namespaced.New(func(namespace string) state.State {
//		if namespace == "cluster" {
//			return shared
//		}
//		return local
//	})
package namespaced

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

type namespaced struct {
	pick func(namespace string) state.State
}

// New returns the state that asks pick for the state of each namespace. It must give the same one each time. Nothing is
// in a namespace for which it gives nil: a Get finds nothing there, and all else is Unsupported.
func New(pick func(namespace string) state.State) state.State {
	return &namespaced{func(namespace string) state.State {
		if st := pick(namespace); st != nil {
			return st
		}

		return nowhere{namespace}
	}}
}

var (
	_ state.State    = (*namespaced)(nil)
	_ state.Notifier = (*namespaced)(nil)
)

func (n *namespaced) of(r resource.Resource) state.State { return n.pick(r.Metadata().Namespace()) }

// Get implements state.State.
func (n *namespaced) Get(ctx context.Context, ptr resource.Pointer, opts ...state.GetOption) (resource.Resource, error) {
	return n.pick(ptr.Namespace).Get(ctx, ptr, opts...)
}

// List implements state.State.
func (n *namespaced) List(ctx context.Context, kind resource.Kind, opts ...state.ListOption) ([]resource.Resource, error) {
	return n.pick(kind.Namespace).List(ctx, kind, opts...)
}

// Watch implements state.State.
func (n *namespaced) Watch(ctx context.Context, ptr resource.Pointer, ch chan<- state.Event, opts ...state.WatchOption) error {
	return n.pick(ptr.Namespace).Watch(ctx, ptr, ch, opts...)
}

// WatchKind implements state.State.
func (n *namespaced) WatchKind(ctx context.Context, kind resource.Kind, ch chan<- state.Event, opts ...state.WatchKindOption) error {
	return n.pick(kind.Namespace).WatchKind(ctx, kind, ch, opts...)
}

// WatchKindAggregated implements state.State.
func (n *namespaced) WatchKindAggregated(ctx context.Context, kind resource.Kind, ch chan<- []state.Event, opts ...state.WatchKindOption) error {
	return n.pick(kind.Namespace).WatchKindAggregated(ctx, kind, ch, opts...)
}

// WatchFor implements state.State.
func (n *namespaced) WatchFor(ctx context.Context, ptr resource.Pointer, conditions ...state.Condition) (resource.Resource, error) {
	return n.pick(ptr.Namespace).WatchFor(ctx, ptr, conditions...)
}

// Notify implements state.Notifier, as far as the state of the namespace does.
func (n *namespaced) Notify(ctx context.Context, kind resource.Kind, fn func(*state.Event)) error {
	if notifier, ok := n.pick(kind.Namespace).(state.Notifier); ok {
		return notifier.Notify(ctx, kind, fn)
	}

	ptr := resource.Pointer{Namespace: kind.Namespace, Type: kind.Type}

	return state.NewError(state.Unsupported, "notify", ptr, "the state of namespace %q can not notify", kind.Namespace)
}

// Create implements state.State.
func (n *namespaced) Create(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	return n.of(r).Create(ctx, r, opts...)
}

// Update implements state.State.
func (n *namespaced) Update(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	return n.of(r).Update(ctx, r, opts...)
}

// Modify implements state.State.
func (n *namespaced) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	return n.of(empty).Modify(ctx, empty, fn, opts...)
}

// UpdateWithConflicts implements state.State.
func (n *namespaced) UpdateWithConflicts(ctx context.Context, ptr resource.Pointer, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	return n.pick(ptr.Namespace).UpdateWithConflicts(ctx, ptr, fn, opts...)
}

// Destroy implements state.State.
func (n *namespaced) Destroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	return n.pick(ptr.Namespace).Destroy(ctx, ptr, opts...)
}

// Teardown implements state.State.
func (n *namespaced) Teardown(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) (bool, error) {
	return n.pick(ptr.Namespace).Teardown(ctx, ptr, opts...)
}

// TeardownAndDestroy implements state.State.
func (n *namespaced) TeardownAndDestroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	return n.pick(ptr.Namespace).TeardownAndDestroy(ctx, ptr, opts...)
}

// AddFinalizer implements state.State.
func (n *namespaced) AddFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	return n.pick(ptr.Namespace).AddFinalizer(ctx, ptr, finalizers...)
}

// RemoveFinalizer implements state.State.
func (n *namespaced) RemoveFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	return n.pick(ptr.Namespace).RemoveFinalizer(ctx, ptr, finalizers...)
}
