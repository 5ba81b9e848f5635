// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"time"

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
	if err := s.create(next, ptr, o.Owner); err != nil {
		return err
	}

	state.WriteBack(md, next.Metadata())

	return nil
}

// create stores next, which is the store's from here on.
func (s *State) create(next resource.Resource, ptr resource.Pointer, owner string) error {
	md := next.Metadata()
	md.SetVersion(1)
	md.SetOwner(owner)
	md.SetCreated(time.Now())

	if md.Updated().IsZero() {
		md.SetUpdated(md.Created())
	}

	md.Seal()

	_, err := s.lockKind(ptr.Kind()).write(ptr.ID, func(cur resource.Resource) (state.EventType, resource.Resource, error) {
		if cur != nil {
			return 0, nil, state.NewError(state.AlreadyExists, "create", ptr, "already exists")
		}

		return state.Created, next, nil
	})

	return err
}

// Update implements state.State.
func (s *State) Update(_ context.Context, r resource.Resource, opts ...state.WriteOption) error {
	o := state.NewWriteOptions(opts...)
	ptr := r.Metadata().Pointer()
	next := r.DeepCopy()

	_, err := s.change("update", ptr, func(cur resource.Resource) (resource.Resource, error) {
		if err := state.CheckOwner("update", cur, o.Owner); err != nil {
			return nil, err
		}

		if err := state.CheckVersion("update", cur, next); err != nil {
			return nil, err
		}

		return next, state.CheckPhase("update", cur, o.ExpectedPhase)
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

	_, err := k.write(ptr.ID, func(cur resource.Resource) (state.EventType, resource.Resource, error) {
		if cur == nil {
			return 0, nil, notFound("destroy", ptr)
		}

		return state.Destroyed, cur, state.CheckDestroy(cur, o)
	})

	return err
}

// change replaces the version of an existing resource by what fn makes of it, under the lock. fn returns an unsealed
// resource for good, or the version it was given when there is nothing to change.
func (s *State) change(op string, ptr resource.Pointer, fn func(cur resource.Resource) (resource.Resource, error)) (resource.Resource, error) {
	k := s.lookup(ptr.Kind())
	if k == nil {
		return nil, notFound(op, ptr)
	}

	k.mu.Lock()

	return k.write(ptr.ID, func(cur resource.Resource) (state.EventType, resource.Resource, error) {
		if cur == nil {
			return 0, nil, notFound(op, ptr)
		}

		next, err := fn(cur)
		if err != nil || next == cur {
			return state.Noop, cur, err
		}

		was, md := cur.Metadata(), next.Metadata()
		md.SetVersion(was.Version() + 1)
		md.SetOwner(was.Owner())
		md.SetCreated(was.Created())
		md.SetUpdated(time.Now())
		md.Seal()

		return state.Updated, next, nil
	})
}

// write makes one change of one resource. decide is shown the current version, nil for none, and returns what shall
// happen: Created, Updated or Destroyed, or Noop for nothing, and the version that is current then. The lock is held
// when write is called, and not when it returns.
func (k *kind) write(id string, decide func(cur resource.Resource) (state.EventType, resource.Resource, error)) (resource.Resource, error) {
	k.waitFor(id)

	var cur resource.Resource

	c, at := k.index.Load().probe(id)
	if c != nil {
		cur = c.load()
	}

	typ, next, err := decide(cur)

	switch {
	case err != nil:
		k.mu.Unlock()

		return nil, err
	case typ == state.Noop:
		k.mu.Unlock()

		return cur, nil
	case k.store.journal != nil:
		w := k.begin(typ, id, cur, next)
		k.mu.Unlock()

		return next, k.store.commit(w)
	default:
		k.publish(typ, c, at, cur, next)
		k.mu.Unlock()

		return next, nil
	}
}
