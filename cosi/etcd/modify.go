// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Modify implements state.State.
func (s *Store) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	o := state.NewWriteOptions(opts...)
	ptr := empty.Metadata().Pointer()

	return s.write(ctx, ptr, func(cur resource.Resource) (decision, error) {
		if cur != nil {
			return modified(cur, fn, o)
		}

		next := empty.DeepCopy()
		if err := state.Change(ptr, next, fn); err != nil {
			return decision{}, err
		}

		if err := state.CheckNewOwner("modify", next.Metadata(), o.Owner); err != nil {
			return decision{}, err
		}

		return created(next, state.WriteOptions{Owner: o.Owner}), nil
	})
}

// UpdateWithConflicts implements state.State.
func (s *Store) UpdateWithConflicts(ctx context.Context, ptr resource.Pointer, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	o := state.NewWriteOptions(opts...)

	return s.write(ctx, ptr, func(cur resource.Resource) (decision, error) {
		if cur == nil {
			return decision{}, state.NewError(state.NotFound, "modify", ptr, "does not exist")
		}

		return modified(cur, fn, o)
	})
}

// modified decides a change of the current version by fn.
func modified(cur resource.Resource, fn func(resource.Resource) error, o state.WriteOptions) (decision, error) {
	next, err := state.Edit(cur, fn, o)
	if err != nil || resource.Equal(cur, next) {
		return decision{}, err
	}

	return succeed(cur, next), nil
}

// AddFinalizer implements state.State.
func (s *Store) AddFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	return s.edit(ctx, "add finalizer", ptr, func(md *resource.Metadata) bool { return md.AddFinalizer(finalizers...) })
}

// RemoveFinalizer implements state.State.
func (s *Store) RemoveFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	return s.edit(ctx, "remove finalizer", ptr, func(md *resource.Metadata) bool { return md.RemoveFinalizer(finalizers...) })
}

// edit changes only the metadata.
func (s *Store) edit(ctx context.Context, op string, ptr resource.Pointer, fn func(*resource.Metadata) bool) error {
	_, err := s.change(ctx, op, ptr, func(cur resource.Resource) (resource.Resource, error) {
		md := cur.Metadata().Copy()
		if !fn(&md) {
			return cur, nil
		}

		return cur.WithMetadata(md), nil
	})

	return err
}

// Teardown implements state.State.
func (s *Store) Teardown(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) (bool, error) {
	o := state.NewWriteOptions(opts...)

	r, err := s.change(ctx, "teardown", ptr, func(cur resource.Resource) (resource.Resource, error) {
		if err := state.CheckOwner("teardown", cur, o.Owner); err != nil {
			return nil, err
		}

		md := cur.Metadata().Copy()
		if md.Phase() == resource.PhaseTearingDown {
			return cur, nil
		}

		md.SetPhase(resource.PhaseTearingDown)

		return cur.WithMetadata(md), nil
	})
	if err != nil {
		return false, err
	}

	return len(r.Metadata().Finalizers()) == 0, nil
}

// TeardownAndDestroy implements state.State.
func (s *Store) TeardownAndDestroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	return state.TeardownAndWait(ctx, s, ptr, opts...)
}
