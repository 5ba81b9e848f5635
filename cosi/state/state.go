// SPDX-License-Identifier: Apache-2.0

// Package state is the contract of a resource store: eight core operations, the derived ones (modify, finalizers, teardown,
// watch-for), their options, events and error classes. Drivers (memory, bolt, etcd, remote) implement State; one
// conformance suite tests all of them.
//
// Resources that a state returns (Get, List, events) are immutable and shared. The state copies resources that are passed to
// Create and Update. After success, the caller's metadata has the stored version, owner and times.
package state

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Reader reads resources.
type Reader interface {
	// Get returns the current version, or a NotFound error.
	Get(ctx context.Context, ptr resource.Pointer, opts ...GetOption) (resource.Resource, error)
	// List returns a snapshot sorted by id; an unknown kind is empty.
	List(ctx context.Context, kind resource.Kind, opts ...ListOption) ([]resource.Resource, error)
}

// Watcher watches resources. The channel is never closed. A watch ends with its context, without an event, or with one
// Errored event.
type Watcher interface {
	// Watch sends the current version as Created (or a tombstone as Destroyed), then each change.
	Watch(ctx context.Context, ptr resource.Pointer, ch chan<- Event, opts ...WatchOption) error
	// WatchKind sends each change of a kind.
	WatchKind(ctx context.Context, kind resource.Kind, ch chan<- Event, opts ...WatchKindOption) error
	// WatchKindAggregated sends all pending changes at once.
	WatchKindAggregated(ctx context.Context, kind resource.Kind, ch chan<- []Event, opts ...WatchKindOption) error
	// WatchFor blocks until the resource satisfies all conditions and returns it.
	WatchFor(ctx context.Context, ptr resource.Pointer, conditions ...Condition) (resource.Resource, error)
}

// Writer writes resources.
type Writer interface {
	// Create stores a new resource. AlreadyExists is a conflict.
	Create(ctx context.Context, r resource.Resource, opts ...WriteOption) error
	// Update replaces the stored version, which must be the version that the resource has.
	Update(ctx context.Context, r resource.Resource, opts ...WriteOption) error
	// Modify creates or updates: fn gets a mutable copy of the stored resource, or of empty. When fn changes nothing, nothing
	// is written and no event is sent. Modify returns the stored version.
	Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...WriteOption) (resource.Resource, error)
	// UpdateWithConflicts is Modify for an existing resource. It returns NotFound if there is none.
	UpdateWithConflicts(ctx context.Context, ptr resource.Pointer, fn func(resource.Resource) error, opts ...WriteOption) (resource.Resource, error)
	// Destroy removes a resource without finalizers.
	Destroy(ctx context.Context, ptr resource.Pointer, opts ...WriteOption) error
	// Teardown moves to the tearing-down phase and reports whether the resource has no finalizers. It may be repeated.
	Teardown(ctx context.Context, ptr resource.Pointer, opts ...WriteOption) (ready bool, err error)
	// TeardownAndDestroy tears down, waits until the finalizers are removed, and destroys.
	TeardownAndDestroy(ctx context.Context, ptr resource.Pointer, opts ...WriteOption) error
	// AddFinalizer adds finalizers. The caller does not have to be the owner.
	AddFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error
	// RemoveFinalizer removes finalizers. The caller does not have to be the owner.
	RemoveFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error
}

// State is a resource store.
type State interface {
	Reader
	Watcher
	Writer
}

// Notifier is implemented by states in the same process, in addition to watches. The writer of a change itself calls fn, for
// each change of the kind, in order, after the change can be read. fn must return at once, and must not call the state or keep
// the event. The event has no bookmark. The calls end with the context. An error of the class Unsupported means that this
// kind must be watched instead.
type Notifier interface {
	Notify(ctx context.Context, kind resource.Kind, fn func(*Event)) error
}

// Notify calls the Notify of st, or returns Unsupported if st is not a Notifier.
func Notify(ctx context.Context, st State, kind resource.Kind, fn func(*Event)) error {
	if n, ok := st.(Notifier); ok {
		return n.Notify(ctx, kind, fn)
	}

	return NewError(Unsupported, "notify", kind.Pointer(""), "the state cannot notify")
}
