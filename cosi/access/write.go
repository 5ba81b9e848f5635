// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Create implements state.State.
func (g *guarded) Create(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	if err := g.check(ctx, Create, r.Metadata().Pointer()); err != nil {
		return err
	}

	return g.st.Create(ctx, r, opts...)
}

// Update implements state.State.
func (g *guarded) Update(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	if err := g.check(ctx, Update, r.Metadata().Pointer()); err != nil {
		return err
	}

	return g.st.Update(ctx, r, opts...)
}

// Modify implements state.State. Who may update but not create modifies what exists.
func (g *guarded) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	ptr := empty.Metadata().Pointer()

	if err := g.check(ctx, Update, ptr); err != nil {
		return nil, err
	}

	denied := g.check(ctx, Create, ptr)
	if denied == nil {
		return g.st.Modify(ctx, empty, fn, opts...)
	}

	if _, err := g.st.Get(ctx, ptr); state.IsNotFound(err) {
		return nil, denied
	}

	return g.st.UpdateWithConflicts(ctx, ptr, fn, opts...)
}

// UpdateWithConflicts implements state.State.
func (g *guarded) UpdateWithConflicts(ctx context.Context, ptr resource.Pointer, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	if err := g.check(ctx, Update, ptr); err != nil {
		return nil, err
	}

	return g.st.UpdateWithConflicts(ctx, ptr, fn, opts...)
}

// Destroy implements state.State.
func (g *guarded) Destroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	if err := g.check(ctx, Destroy, ptr); err != nil {
		return err
	}

	return g.st.Destroy(ctx, ptr, opts...)
}

// Teardown implements state.State.
func (g *guarded) Teardown(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) (bool, error) {
	if err := g.check(ctx, Destroy, ptr); err != nil {
		return false, err
	}

	return g.st.Teardown(ctx, ptr, opts...)
}

// TeardownAndDestroy implements state.State.
func (g *guarded) TeardownAndDestroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	if err := g.check(ctx, Destroy, ptr); err != nil {
		return err
	}

	return g.st.TeardownAndDestroy(ctx, ptr, opts...)
}

// AddFinalizer implements state.State.
func (g *guarded) AddFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	if err := g.check(ctx, Update, ptr); err != nil {
		return err
	}

	return g.st.AddFinalizer(ctx, ptr, finalizers...)
}

// RemoveFinalizer implements state.State.
func (g *guarded) RemoveFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	if err := g.check(ctx, Update, ptr); err != nil {
		return err
	}

	return g.st.RemoveFinalizer(ctx, ptr, finalizers...)
}
