// SPDX-License-Identifier: Apache-2.0

package namespaced

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// nowhere is the state of a namespace that no state keeps. It has nothing, and who lists or watches it as if it could
// have something is told.
type nowhere struct{ namespace string }

func (n nowhere) error(op string, ptr resource.Pointer) error {
	return state.NewError(state.Unsupported, op, ptr, "no state keeps the namespace %q", n.namespace)
}

func ofKind(kind resource.Kind) resource.Pointer {
	return resource.Pointer{Namespace: kind.Namespace, Type: kind.Type}
}

func (n nowhere) Get(_ context.Context, ptr resource.Pointer, _ ...state.GetOption) (resource.Resource, error) {
	return nil, state.NewError(state.NotFound, "get", ptr, "no state keeps the namespace %q", n.namespace)
}

func (n nowhere) List(_ context.Context, kind resource.Kind, _ ...state.ListOption) ([]resource.Resource, error) {
	return nil, n.error("list", ofKind(kind))
}

func (n nowhere) Watch(_ context.Context, ptr resource.Pointer, _ chan<- state.Event, _ ...state.WatchOption) error {
	return n.error("watch", ptr)
}

func (n nowhere) WatchKind(_ context.Context, kind resource.Kind, _ chan<- state.Event, _ ...state.WatchKindOption) error {
	return n.error("watch", ofKind(kind))
}

func (n nowhere) WatchKindAggregated(_ context.Context, kind resource.Kind, _ chan<- []state.Event, _ ...state.WatchKindOption) error {
	return n.error("watch", ofKind(kind))
}

func (n nowhere) WatchFor(_ context.Context, ptr resource.Pointer, _ ...state.Condition) (resource.Resource, error) {
	return nil, n.error("watch", ptr)
}

func (n nowhere) Create(_ context.Context, r resource.Resource, _ ...state.WriteOption) error {
	return n.error("create", r.Metadata().Pointer())
}

func (n nowhere) Update(_ context.Context, r resource.Resource, _ ...state.WriteOption) error {
	return n.error("update", r.Metadata().Pointer())
}

func (n nowhere) Modify(_ context.Context, empty resource.Resource, _ func(resource.Resource) error, _ ...state.WriteOption) (resource.Resource, error) {
	return nil, n.error("modify", empty.Metadata().Pointer())
}

func (n nowhere) UpdateWithConflicts(_ context.Context, ptr resource.Pointer, _ func(resource.Resource) error, _ ...state.WriteOption) (resource.Resource, error) {
	return nil, n.error("modify", ptr)
}

func (n nowhere) Destroy(_ context.Context, ptr resource.Pointer, _ ...state.WriteOption) error {
	return n.error("destroy", ptr)
}

func (n nowhere) Teardown(_ context.Context, ptr resource.Pointer, _ ...state.WriteOption) (bool, error) {
	return false, n.error("teardown", ptr)
}

func (n nowhere) TeardownAndDestroy(_ context.Context, ptr resource.Pointer, _ ...state.WriteOption) error {
	return n.error("teardown and destroy", ptr)
}

func (n nowhere) AddFinalizer(_ context.Context, ptr resource.Pointer, _ ...string) error {
	return n.error("add finalizer", ptr)
}

func (n nowhere) RemoveFinalizer(_ context.Context, ptr resource.Pointer, _ ...string) error {
	return n.error("remove finalizer", ptr)
}
