// SPDX-License-Identifier: Apache-2.0

// Package access puts a rule before a state: each call is first shown to a function that may refuse it.
//
//	readOnly := access.New(st, func(ctx context.Context, a access.Attempt) error {
//		if a.Verb.Writes() {
//			return status.Error(codes.PermissionDenied, "read only")
//		}
//		return nil
//	})
//
// The rule's error is returned as it is. Native operations of the state stay native.
package access

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Verb is what is attempted. Finalizers are an Update, teardown is a Destroy.
type Verb uint8

// The verbs.
const (
	Get Verb = iota
	List
	Watch
	Create
	Update
	Destroy
)

// Writes reports whether the verb changes something.
func (v Verb) Writes() bool { return v >= Create }

// String returns the verb in lower case.
func (v Verb) String() string {
	names := [...]string{"get", "list", "watch", "create", "update", "destroy"}
	if int(v) >= len(names) {
		return "unknown"
	}

	return names[v]
}

// Attempt is one call. The ID is empty for a list and for the watch of a kind.
type Attempt struct {
	Namespace string
	Type      string
	ID        string
	Verb      Verb
}

// Rule refuses an attempt by an error.
type Rule func(ctx context.Context, a Attempt) error

// New returns the state behind the rule. It can notify (state.Notifier) if st can.
func New(st state.State, rule Rule) state.State {
	g := &guarded{st: st, rule: rule}

	if n, ok := st.(state.Notifier); ok {
		return &notifying{guarded: g, notifier: n}
	}

	return g
}

type guarded struct {
	st   state.State
	rule Rule
}

func (g *guarded) check(ctx context.Context, verb Verb, p resource.Pointer) error {
	return g.rule(ctx, Attempt{Namespace: p.Namespace, Type: p.Type, ID: p.ID, Verb: verb})
}

func ofKind(k resource.Kind) resource.Pointer {
	return resource.Pointer{Namespace: k.Namespace, Type: k.Type}
}

// Get implements state.State.
func (g *guarded) Get(ctx context.Context, ptr resource.Pointer, opts ...state.GetOption) (resource.Resource, error) {
	if err := g.check(ctx, Get, ptr); err != nil {
		return nil, err
	}

	return g.st.Get(ctx, ptr, opts...)
}

// List implements state.State.
func (g *guarded) List(ctx context.Context, kind resource.Kind, opts ...state.ListOption) ([]resource.Resource, error) {
	if err := g.check(ctx, List, ofKind(kind)); err != nil {
		return nil, err
	}

	return g.st.List(ctx, kind, opts...)
}

// Watch implements state.State.
func (g *guarded) Watch(ctx context.Context, ptr resource.Pointer, ch chan<- state.Event, opts ...state.WatchOption) error {
	if err := g.check(ctx, Watch, ptr); err != nil {
		return err
	}

	return g.st.Watch(ctx, ptr, ch, opts...)
}

// WatchKind implements state.State.
func (g *guarded) WatchKind(ctx context.Context, kind resource.Kind, ch chan<- state.Event, opts ...state.WatchKindOption) error {
	if err := g.check(ctx, Watch, ofKind(kind)); err != nil {
		return err
	}

	return g.st.WatchKind(ctx, kind, ch, opts...)
}

// WatchKindAggregated implements state.State.
func (g *guarded) WatchKindAggregated(ctx context.Context, kind resource.Kind, ch chan<- []state.Event, opts ...state.WatchKindOption) error {
	if err := g.check(ctx, Watch, ofKind(kind)); err != nil {
		return err
	}

	return g.st.WatchKindAggregated(ctx, kind, ch, opts...)
}

// WatchFor implements state.State.
func (g *guarded) WatchFor(ctx context.Context, ptr resource.Pointer, conditions ...state.Condition) (resource.Resource, error) {
	if err := g.check(ctx, Watch, ptr); err != nil {
		return nil, err
	}

	return g.st.WatchFor(ctx, ptr, conditions...)
}

// notifying is guarded over a state.Notifier.
type notifying struct {
	*guarded

	notifier state.Notifier
}

// Notify implements state.Notifier.
func (n *notifying) Notify(ctx context.Context, kind resource.Kind, fn func(*state.Event)) error {
	if err := n.check(ctx, Watch, ofKind(kind)); err != nil {
		return err
	}

	return n.notifier.Notify(ctx, kind, fn)
}
