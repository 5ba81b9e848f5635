// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Create implements state.State.
func (s *State) Create(_ context.Context, r resource.Resource, opts ...state.WriteOption) error {
	o := state.NewWriteOptions(opts...)
	md := r.Metadata()
	ptr := md.Pointer()

	if err := state.CheckNewOwner("create", md, o.Owner); err != nil {
		return err
	}

	next := r.DeepCopy()
	if err := s.create(next, ptr, o); err != nil {
		return err
	}

	state.WriteBack(md, next.Metadata())

	return nil
}

// create stores next; the caller must not use it afterwards.
func (s *State) create(next resource.Resource, ptr resource.Pointer, o state.WriteOptions) error {
	created := s.clock.nanos()
	if !o.Created.IsZero() {
		created = o.Created.UnixNano()
	}

	md := next.Metadata()
	md.Begin(o.Owner, created)

	if err := resource.CheckAddress(md); err != nil {
		return unfit("create", ptr, err)
	}

	size, err := resource.Inspect(next, nil)
	if err != nil {
		return unfit("create", ptr, err)
	}

	md.Seal()

	_, err = s.lockKind(ptr.Kind()).write(ptr.ID, func(cur resource.Resource) (decision, error) {
		if cur != nil {
			return decision{}, state.NewError(state.AlreadyExists, "create", ptr, "already exists")
		}

		return decision{state.Created, next, weightOf(size)}, nil
	})

	return err
}

// unfit returns the error for a resource that cannot be encoded. If it were stored, every watch over a wire would break on
// it.
func unfit(op string, ptr resource.Pointer, err error) error {
	return state.NewError(state.InvalidArgument, op, ptr, "%v", err)
}

// Update implements state.State.
func (s *State) Update(_ context.Context, r resource.Resource, opts ...state.WriteOption) error {
	o := state.NewWriteOptions(opts...)
	ptr := r.Metadata().Pointer()
	next := r.DeepCopy()

	size, err := resource.Inspect(next, nil)
	if err != nil {
		return unfit("update", ptr, err)
	}

	_, err = s.change("update", ptr, func(cur resource.Resource) (resource.Resource, int, error) {
		if err := state.CheckOwner("update", cur, o.Owner); err != nil {
			return nil, 0, err
		}

		if err := state.CheckVersion("update", cur, next); err != nil {
			return nil, 0, err
		}

		return next, size, state.CheckPhase("update", cur, o.ExpectedPhase)
	})
	if err != nil {
		return err
	}

	state.WriteBack(r.Metadata(), next.Metadata())

	return nil
}

// Destroy implements state.State.
func (s *State) Destroy(_ context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	o := state.NewWriteOptions(opts...)

	k := s.lookup(ptr.Kind())
	if k == nil {
		return notFound("destroy", ptr)
	}

	k.mu.Lock()

	_, err := k.write(ptr.ID, func(cur resource.Resource) (decision, error) {
		if cur == nil {
			return decision{}, notFound("destroy", ptr)
		}

		return decision{state.Destroyed, cur, weightOfLast(cur)}, state.CheckDestroy(cur, o)
	})

	return err
}

// change replaces the version of an existing resource by the one that fn returns, under the lock. fn returns an unsealed
// resource, which the store keeps, and its size, or cur if there is nothing to change.
func (s *State) change(op string, ptr resource.Pointer, fn func(cur resource.Resource) (resource.Resource, int, error)) (resource.Resource, error) {
	k := s.lookup(ptr.Kind())
	if k == nil {
		return nil, notFound(op, ptr)
	}

	k.mu.Lock()

	return k.write(ptr.ID, func(cur resource.Resource) (decision, error) {
		if cur == nil {
			return decision{}, notFound(op, ptr)
		}

		next, size, err := fn(cur)
		if err != nil || next == cur {
			return decision{typ: state.Noop}, err
		}

		next.Metadata().Succeed(cur.Metadata(), s.clock.nanos())

		return decision{state.Updated, next, weightOf(size)}, nil
	})
}

// decision is the change of a resource: Created, Updated, Destroyed, or Noop for none, and the version after it.
type decision struct {
	typ    state.EventType
	next   resource.Resource
	weight weight
}

// write makes one change of one resource. decide gets the current version, nil for none. The lock is held when write is
// called, and released when it returns.
func (k *kind) write(id string, decide func(cur resource.Resource) (decision, error)) (resource.Resource, error) {
	k.waitFor(id)

	var cur resource.Resource

	c, at := k.index.Load().probe(id)
	if c != nil {
		cur = c.load()
	}

	d, err := decide(cur)

	switch {
	case err != nil:
		k.mu.Unlock()

		return nil, err
	case d.typ == state.Noop:
		k.mu.Unlock()

		return cur, nil
	case k.store.journal != nil:
		w := k.begin(d, id, cur)
		k.mu.Unlock()

		return d.next, k.store.commit(w)
	default:
		k.publish(d.typ, c, at, cur, d.next, d.weight)
		k.mu.Unlock()

		return d.next, nil
	}
}
