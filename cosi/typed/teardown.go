// SPDX-License-Identifier: Apache-2.0

package typed

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Destroyer is the part of a state or a controller runtime that Teardown and Destroy need.
type Destroyer interface {
	Teardown(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) (ready bool, err error)
	Destroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error
}

// Holder is the part of a state or a controller runtime that changes finalizers.
type Holder interface {
	AddFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error
	RemoveFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error
}

// Teardown moves a resource to the tearing-down phase and reports whether it has no finalizers.
func Teardown[S resource.Spec](ctx context.Context, w Destroyer, namespace, id string, opts ...state.WriteOption) (ready bool, err error) {
	return w.Teardown(ctx, resource.PointerOf[S](namespace, id), opts...)
}

// Destroy removes a resource without finalizers.
func Destroy[S resource.Spec](ctx context.Context, w Destroyer, namespace, id string, opts ...state.WriteOption) error {
	return w.Destroy(ctx, resource.PointerOf[S](namespace, id), opts...)
}

// AddFinalizer adds finalizers to a resource.
func AddFinalizer[S resource.Spec](ctx context.Context, w Holder, namespace, id string, finalizers ...string) error {
	return w.AddFinalizer(ctx, resource.PointerOf[S](namespace, id), finalizers...)
}

// RemoveFinalizer removes finalizers from a resource.
func RemoveFinalizer[S resource.Spec](ctx context.Context, w Holder, namespace, id string, finalizers ...string) error {
	return w.RemoveFinalizer(ctx, resource.PointerOf[S](namespace, id), finalizers...)
}
