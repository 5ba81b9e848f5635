// SPDX-License-Identifier: Apache-2.0

// Package typed reads and writes resources by their spec type, so that controllers stay short. It works
// with a state and with a controller's runtime. An empty namespace means the definition's default.
package typed

import (
	"context"
	"fmt"
	"reflect"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Modifier is the part of a state or a controller runtime that Modify needs.
type Modifier interface {
	Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error)
}

// Get returns a resource, or a NotFound error.
func Get[S resource.Spec](ctx context.Context, r state.Reader, namespace, id string) (*resource.Typed[S], error) {
	res, err := r.Get(ctx, resource.PointerOf[S](namespace, id))
	if err != nil {
		return nil, err
	}

	return As[S](res)
}

// Find is Get, but returns nil for a missing resource.
func Find[S resource.Spec](ctx context.Context, r state.Reader, namespace, id string) (*resource.Typed[S], error) {
	res, err := Get[S](ctx, r, namespace, id)
	if state.IsNotFound(err) {
		return nil, nil
	}

	return res, err
}

// List returns all resources of a kind, sorted by id.
func List[S resource.Spec](ctx context.Context, r state.Reader, namespace string, opts ...state.ListOption) ([]*resource.Typed[S], error) {
	items, err := r.List(ctx, resource.KindOf[S](namespace), opts...)
	if err != nil {
		return nil, err
	}

	out := make([]*resource.Typed[S], 0, len(items))

	for _, item := range items {
		t, err := As[S](item)
		if err != nil {
			return nil, err
		}

		out = append(out, t)
	}

	return out, nil
}

// Modify creates or updates the resource by changing its spec.
func Modify[S resource.Spec](ctx context.Context, w Modifier, namespace, id string, fn func(*S) error, opts ...state.WriteOption) error {
	return modify(ctx, w, resource.New[S](namespace, id), convert[S], func(r resource.Resource) error { return fn(r.Spec().(*S)) }, opts)
}

// Set creates or updates the resource with the given spec.
func Set[S resource.Spec](ctx context.Context, w Modifier, namespace, id string, spec S, opts ...state.WriteOption) error {
	return modify(ctx, w, resource.New[S](namespace, id), convert[S], func(r resource.Resource) error {
		*r.Spec().(*S) = spec

		return nil
	}, opts)
}

// ModifyResource is Modify, and can also change the metadata.
func ModifyResource[S resource.Spec](ctx context.Context, w Modifier, namespace, id string, fn func(*resource.Typed[S]) error, opts ...state.WriteOption) error {
	return modify(ctx, w, resource.New[S](namespace, id), convert[S], func(r resource.Resource) error { return fn(r.(*resource.Typed[S])) }, opts)
}

// modify is compiled once, and not for each type. fn gets what convert returns.
func modify(
	ctx context.Context, w Modifier, empty resource.Resource, convert func(resource.Resource) (resource.Resource, error),
	fn func(resource.Resource) error, opts []state.WriteOption,
) error {
	_, err := w.Modify(ctx, empty, func(r resource.Resource) error {
		t, err := convert(r)
		if err != nil {
			return err
		}

		if o, ok := r.(*resource.Opaque); ok {
			return modifyOpaque(o, t, fn)
		}

		return fn(t)
	}, opts...)

	return err
}

// modifyOpaque runs fn on t, which is o decoded, and writes a change back to o.
func modifyOpaque(o *resource.Opaque, t resource.Resource, fn func(resource.Resource) error) error {
	was := t.DeepCopy()

	if err := fn(t); err != nil || resource.Equal(was, t) {
		return err
	}

	return o.Become(t)
}

// As converts a resource to its type. A resource that is undecoded in the store, because its type was not registered before
// (see resource.Register), is decoded, and its type is registered.
func As[S resource.Spec](r resource.Resource) (*resource.Typed[S], error) {
	switch r := r.(type) {
	case *resource.Typed[S]:
		return r, nil
	case *resource.Opaque:
		t, err := resource.Decode[S](r)
		if err == nil {
			resource.Register[S]() // if it fails, resources of the type are decoded here each time
		}

		return t, err
	default:
		return nil, otherType(r, reflect.TypeFor[S]())
	}
}

func otherType(r resource.Resource, want reflect.Type) error {
	return fmt.Errorf("resource %s is a %T, expected spec %s", r.Metadata(), r, want)
}

// convert is As as a function of resources.
func convert[S resource.Spec](r resource.Resource) (resource.Resource, error) { return As[S](r) }
