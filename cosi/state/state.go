// SPDX-License-Identifier: Apache-2.0

// Package state is the contract of a resource store: eight core operations, the derived ones (modify,
// finalizers, teardown, watch-for), their options, events and error classes. Drivers (memory, bolt, etcd,
// remote) implement State natively; one conformance suite runs on all of them.
//
// Resources that come out of a state (Get, List, events) are immutable and shared. Resources given to
// Create and Update are copied by the state; after success the caller's metadata carries the stored
// version, owner and times.
package state

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Reader reads.
type Reader interface {
	// Get returns the current version, or a NotFound error.
	Get(ctx context.Context, ptr resource.Pointer, opts ...GetOption) (resource.Resource, error)
	// List returns a snapshot sorted by id; an unknown kind is empty.
	List(ctx context.Context, kind resource.Kind, opts ...ListOption) ([]resource.Resource, error)
}

// Watcher watches. The channel is never closed; a watch ends with its context (silently) or with one
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

// Writer writes.
type Writer interface {
	// Create stores a new resource; AlreadyExists is a conflict.
	Create(ctx context.Context, r resource.Resource, opts ...WriteOption) error
	// Update replaces the stored version, which must be the submitted one.
	Update(ctx context.Context, r resource.Resource, opts ...WriteOption) error
	// Modify creates or updates: fn gets a mutable copy of the stored resource, or of empty. Nothing is
	// written, and no event sent, when fn changes nothing. Returns the stored version.
	Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...WriteOption) (resource.Resource, error)
	// UpdateWithConflicts is Modify on an existing resource; NotFound when there is none.
	UpdateWithConflicts(ctx context.Context, ptr resource.Pointer, fn func(resource.Resource) error, opts ...WriteOption) (resource.Resource, error)
	// Destroy removes a resource without finalizers.
	Destroy(ctx context.Context, ptr resource.Pointer, opts ...WriteOption) error
	// Teardown moves to the tearing-down phase and tells whether no finalizer is left. Idempotent.
	Teardown(ctx context.Context, ptr resource.Pointer, opts ...WriteOption) (ready bool, err error)
	// TeardownAndDestroy tears down, waits for the finalizers to go and destroys.
	TeardownAndDestroy(ctx context.Context, ptr resource.Pointer, opts ...WriteOption) error
	// AddFinalizer adds finalizers, whoever owns the resource.
	AddFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error
	// RemoveFinalizer removes finalizers, whoever owns the resource.
	RemoveFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error
}

// State is the whole.
type State interface {
	Reader
	Watcher
	Writer
}

// Notifier is what a state in the same process may offer besides watches: fn is called on every change of the
// kind, in order, by the writer itself, when the change can already be read. It must return at once, must not
// call the state, and must not keep the event. It carries no bookmark. Calls end when the context does. An error of
// the class Unsupported says that this kind must be watched instead.
type Notifier interface {
	Notify(ctx context.Context, kind resource.Kind, fn func(*Event)) error
}

// Notify calls the state's Notify; it is Unsupported by a state that is not a Notifier.
func Notify(ctx context.Context, st State, kind resource.Kind, fn func(*Event)) error {
	if n, ok := st.(Notifier); ok {
		return n.Notify(ctx, kind, fn)
	}

	return NewError(Unsupported, "notify", kind.Pointer(""), "the state cannot notify")
}
