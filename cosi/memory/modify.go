// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// errMoved means that the version that was copied is no longer the current one.
var errMoved = errors.New("moved")

// Modify implements state.State.
func (s *State) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	o := state.NewWriteOptions(opts...)
	ptr := empty.Metadata().Pointer()

	for {
		r, err := s.modify(ptr, fn, o)
		if !state.IsNotFound(err) || !isOf(err, ptr) {
			return r, err
		}

		if err := ctx.Err(); err != nil {
			return nil, err
		}

		next := empty.DeepCopy()
		if err := state.Change(ptr, next, fn); err != nil {
			return nil, err
		}

		if err := state.CheckNewOwner("modify", next.Metadata(), o.Owner); err != nil {
			return nil, err
		}

		next, _ = resource.Isolate(next, nil)

		// If another writer has created the resource, Modify updates it.
		err = s.create(next, ptr, state.WriteOptions{Owner: o.Owner})
		if err == nil {
			return next, nil
		}

		if state.ClassOf(err) != state.AlreadyExists {
			return nil, err
		}
	}
}

// UpdateWithConflicts implements state.State.
func (s *State) UpdateWithConflicts(_ context.Context, ptr resource.Pointer, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	return s.modify(ptr, fn, state.NewWriteOptions(opts...))
}

// modify runs fn on a copy, without the lock. It repeats that if the version that it copied has been replaced.
func (s *State) modify(ptr resource.Pointer, fn func(resource.Resource) error, o state.WriteOptions) (resource.Resource, error) {
	for {
		k := s.lookup(ptr.Kind())
		if k == nil {
			return nil, notFound("modify", ptr)
		}

		c := k.index.Load().find(ptr.ID)
		if c == nil {
			return nil, notFound("modify", ptr)
		}

		seen := c.load()

		next, err := state.Edit(seen, fn, o)
		if err != nil {
			return nil, err
		}

		next, changed := resource.Isolate(next, seen)
		if !changed {
			return seen, nil
		}

		size, err := resource.Inspect(next, seen)
		if err != nil {
			return nil, unfit("modify", ptr, err)
		}

		r, err := s.change("modify", ptr, func(cur resource.Resource) (resource.Resource, int, error) {
			if cur != seen {
				return nil, 0, errMoved
			}

			return next, size, nil
		})
		if !errors.Is(err, errMoved) {
			return r, err
		}
	}
}

// isOf reports whether the error is about this resource: fn may return a NotFound about another one.
func isOf(err error, ptr resource.Pointer) bool {
	var e *state.Error

	return errors.As(err, &e) && e.Ptr == ptr && e.Op == "modify"
}

// AddFinalizer implements state.State.
func (s *State) AddFinalizer(_ context.Context, ptr resource.Pointer, finalizers ...string) error {
	return s.edit("add finalizer", ptr, func(md *resource.Metadata) bool { return md.AddFinalizer(finalizers...) })
}

// RemoveFinalizer implements state.State.
func (s *State) RemoveFinalizer(_ context.Context, ptr resource.Pointer, finalizers ...string) error {
	return s.edit("remove finalizer", ptr, func(md *resource.Metadata) bool { return md.RemoveFinalizer(finalizers...) })
}

// edit changes only the metadata; the next version shares the spec.
func (s *State) edit(op string, ptr resource.Pointer, fn func(*resource.Metadata) bool) error {
	_, err := s.change(op, ptr, func(cur resource.Resource) (resource.Resource, int, error) {
		md := cur.Metadata().Copy()
		if !fn(&md) {
			return cur, 0, nil
		}

		return withMetadata(op, cur, md)
	})

	return err
}

// withMetadata returns the next version of a resource, which shares the spec, and its size.
func withMetadata(op string, cur resource.Resource, md resource.Metadata) (resource.Resource, int, error) {
	next := cur.WithMetadata(md)

	size, err := resource.Inspect(next, cur)
	if err != nil {
		return nil, 0, unfit(op, cur.Metadata().Pointer(), err)
	}

	return next, size, nil
}

// Teardown implements state.State.
func (s *State) Teardown(_ context.Context, ptr resource.Pointer, opts ...state.WriteOption) (bool, error) {
	o := state.NewWriteOptions(opts...)

	r, err := s.change("teardown", ptr, func(cur resource.Resource) (resource.Resource, int, error) {
		if err := state.CheckOwner("teardown", cur, o.Owner); err != nil {
			return nil, 0, err
		}

		md := cur.Metadata().Copy()
		if md.Phase() == resource.PhaseTearingDown {
			return cur, 0, nil
		}

		md.SetPhase(resource.PhaseTearingDown)

		return withMetadata("teardown", cur, md)
	})
	if err != nil {
		return false, err
	}

	return len(r.Metadata().Finalizers()) == 0, nil
}
