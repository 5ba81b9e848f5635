// SPDX-License-Identifier: Apache-2.0

package cositest

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// Set writes a resource without an owner in the namespace of its definition.
func Set[S resource.Spec](e *Environment, id string, spec S) {
	e.t.Helper()

	if err := typed.Set(context.Background(), e.State, "", id, spec); err != nil {
		e.t.Fatal(err)
	}
}

// Wait waits until a resource exists and satisfies the condition, and returns its spec. A nil condition is always satisfied.
func Wait[S resource.Spec](e *Environment, id string, condition func(S) bool) S {
	e.t.Helper()

	return *WaitResource(e, id, func(r *resource.Typed[S]) bool { return condition == nil || condition(*r.TypedSpec()) }).TypedSpec()
}

// WaitResource is Wait, and returns the whole resource.
func WaitResource[S resource.Spec](e *Environment, id string, condition func(*resource.Typed[S]) bool) (r *resource.Typed[S]) {
	e.t.Helper()

	await[S](e, id, func(ctx context.Context) (err error) {
		r, err = typed.WatchFor(ctx, e.State, "", id, condition)

		return err
	})

	return r
}

// WaitGone waits until the resource does not exist.
func WaitGone[S resource.Spec](e *Environment, id string) {
	e.t.Helper()

	await[S](e, id, func(ctx context.Context) error {
		_, err := e.WatchFor(ctx, resource.PointerOf[S]("", id), state.EventTypeIs(state.Destroyed))

		return err
	})
}

// Teardown tears a resource down, waits until it has no finalizers, and destroys it.
func Teardown[S resource.Spec](e *Environment, id string) {
	e.t.Helper()

	await[S](e, id, func(ctx context.Context) error { return e.TeardownAndDestroy(ctx, resource.PointerOf[S]("", id)) })
}

// await calls fn. If fn fails or takes too long, the test fails with a message that shows the resource.
func await[S resource.Spec](e *Environment, id string, fn func(context.Context) error) {
	e.t.Helper()

	ctx, cancel := context.WithTimeout(context.Background(), e.patience)
	defer cancel()

	if err := fn(ctx); err != nil {
		e.t.Fatalf("%v\nnow: %s%s", err, describe[S](e, id), e.failing())
	}
}

// Version returns the current version of a resource.
func Version[S resource.Spec](e *Environment, id string) uint64 {
	e.t.Helper()

	r, err := e.Get(context.Background(), resource.PointerOf[S]("", id))
	if err != nil {
		e.t.Fatal(err)
	}

	return r.Metadata().Version()
}

// describe returns the resource as YAML, or why there is none.
func describe[S resource.Spec](e *Environment, id string) string {
	r, err := e.Get(context.Background(), resource.PointerOf[S]("", id))
	if err != nil {
		return err.Error()
	}

	text, err := resource.MarshalYAML(r)
	if err != nil {
		return err.Error()
	}

	return string(text)
}
