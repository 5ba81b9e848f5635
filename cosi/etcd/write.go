// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// decision is what shall become of a resource: a new version, its destruction, or nothing.
type decision struct {
	next    resource.Resource
	destroy bool
}

// write makes one change. decide is shown the current version, nil for none. It is called again when the copy turns
// out to be old, be it that etcd refused the change or that decide did.
func (s *Store) write(ctx context.Context, ptr resource.Pointer, decide func(cur resource.Resource) (decision, error)) (resource.Resource, error) {
	key := s.key(ptr)

	s.mu.Lock()
	cur := s.known[key]
	s.mu.Unlock()

	fresh := false

	for {
		d, err := decide(cur.Resource)

		if err != nil && !fresh {
			newest, getErr := s.read(ctx, key)
			if getErr != nil {
				return nil, getErr
			}

			fresh = true

			if newest.revision != cur.revision {
				cur = newest

				continue
			}
		}

		if err != nil {
			return nil, err
		}

		if !d.destroy && d.next == nil {
			return cur.Resource, nil
		}

		done, newest, err := s.swap(ctx, key, cur.revision, d)
		if err != nil {
			return nil, err
		}

		if done {
			return d.next, nil
		}

		cur, fresh = newest, true
	}
}

// swap changes the key if its revision is the given one, and waits until the copy has the change; if not, it returns
// what there is.
func (s *Store) swap(ctx context.Context, key string, revision int64, d decision) (done bool, cur version, err error) {
	op := clientv3.OpDelete(key)

	if !d.destroy {
		value, err := resource.MarshalWire(d.next)
		if err != nil {
			return false, cur, err
		}

		op = clientv3.OpPut(key, string(value))
	}

	res, err := s.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(key), "=", revision)).
		Then(op).
		Else(clientv3.OpGet(key)).
		Commit()
	if err != nil {
		return false, cur, err
	}

	if res.Succeeded {
		return true, cur, s.waitFor(ctx, res.Header.Revision)
	}

	cur, err = s.versionOf((*clientv3.GetResponse)(res.Responses[0].GetResponseRange()))

	return false, cur, err
}

// read asks etcd itself.
func (s *Store) read(ctx context.Context, key string) (version, error) {
	res, err := s.client.Get(ctx, key)
	if err != nil {
		return version{}, err
	}

	return s.versionOf(res)
}

func (s *Store) versionOf(res *clientv3.GetResponse) (version, error) {
	if len(res.Kvs) == 0 {
		return version{}, nil
	}

	r, err := s.decode(res.Kvs[0].Key, res.Kvs[0].Value)

	return version{r, res.Kvs[0].ModRevision}, err
}

// Create implements state.State.
func (s *Store) Create(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	o := state.NewWriteOptions(opts...)
	md := r.Metadata()
	ptr := md.Pointer()

	if err := state.CheckNewOwner("create", md, o.Owner); err != nil {
		return err
	}

	next := r.DeepCopy()
	n := next.Metadata()
	n.SetVersion(1)
	n.SetOwner(o.Owner)
	n.SetCreated(time.Now())

	if n.Updated().IsZero() {
		n.SetUpdated(n.Created())
	}

	n.Seal()

	_, err := s.write(ctx, ptr, func(cur resource.Resource) (decision, error) {
		if cur != nil {
			return decision{}, state.NewError(state.AlreadyExists, "create", ptr, "already exists")
		}

		return decision{next: next}, nil
	})
	if err != nil {
		return err
	}

	state.WriteBack(md, n)

	return nil
}

// Update implements state.State.
func (s *Store) Update(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	o := state.NewWriteOptions(opts...)
	ptr := r.Metadata().Pointer()

	next, err := s.change(ctx, "update", ptr, func(cur resource.Resource) (resource.Resource, error) {
		if err := state.CheckOwner("update", cur, o.Owner); err != nil {
			return nil, err
		}

		if err := state.CheckVersion("update", cur, r); err != nil {
			return nil, err
		}

		return r.DeepCopy(), state.CheckPhase("update", cur, o.ExpectedPhase)
	})
	if err != nil {
		return err
	}

	state.WriteBack(r.Metadata(), next.Metadata())

	return nil
}

// change replaces the version of an existing resource by what fn makes of it: an unsealed resource for good, or the
// version it was given when there is nothing to change.
func (s *Store) change(ctx context.Context, op string, ptr resource.Pointer, fn func(cur resource.Resource) (resource.Resource, error)) (resource.Resource, error) {
	return s.write(ctx, ptr, func(cur resource.Resource) (decision, error) {
		if cur == nil {
			return decision{}, state.NewError(state.NotFound, op, ptr, "does not exist")
		}

		next, err := fn(cur)
		if err != nil || next == cur {
			return decision{}, err
		}

		was, md := cur.Metadata(), next.Metadata()
		md.SetVersion(was.Version() + 1)
		md.SetOwner(was.Owner())
		md.SetCreated(was.Created())
		md.SetUpdated(time.Now())
		md.Seal()

		return decision{next: next}, nil
	})
}

// Destroy implements state.State.
func (s *Store) Destroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	o := state.NewWriteOptions(opts...)

	_, err := s.write(ctx, ptr, func(cur resource.Resource) (decision, error) {
		if cur == nil {
			return decision{}, state.NewError(state.NotFound, "destroy", ptr, "does not exist")
		}

		if err := state.CheckOwner("destroy", cur, o.Owner); err != nil {
			return decision{}, err
		}

		if f := cur.Metadata().Finalizers(); len(f) > 0 {
			return decision{}, state.NewError(state.PendingFinalizers, "destroy", ptr, "has finalizers %q", f)
		}

		return decision{destroy: true}, nil
	})

	return err
}
