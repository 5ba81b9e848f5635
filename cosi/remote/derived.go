// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// The API has no calls for these methods.

// Modify implements state.State.
func (s *State) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	return state.ModifyByUpdate(ctx, s, empty, fn, opts...)
}

// UpdateWithConflicts implements state.State.
func (s *State) UpdateWithConflicts(ctx context.Context, ptr resource.Pointer, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	return state.UpdateByUpdate(ctx, s, ptr, fn, opts...)
}

// AddFinalizer implements state.State.
func (s *State) AddFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	return state.EditByUpdate(ctx, s, ptr, func(md *resource.Metadata) { md.AddFinalizer(finalizers...) })
}

// RemoveFinalizer implements state.State.
func (s *State) RemoveFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	return state.EditByUpdate(ctx, s, ptr, func(md *resource.Metadata) { md.RemoveFinalizer(finalizers...) })
}

// WatchFor implements state.State.
func (s *State) WatchFor(ctx context.Context, ptr resource.Pointer, conditions ...state.Condition) (resource.Resource, error) {
	return state.WatchUntil(ctx, s, ptr, conditions...)
}
