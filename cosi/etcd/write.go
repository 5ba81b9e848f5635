// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// decision is the change of a resource: a new version, its destruction, or nothing.
type decision struct {
	next    resource.Resource
	destroy bool
}

// write makes one change. decide gets the current version, nil for none, and is called again if the copy turns out to be
// old. No result depends on an old copy: etcd refuses a change that was decided on one, and a refusal or a decision to
// change nothing is confirmed with the version in etcd.
func (s *Store) write(ctx context.Context, ptr resource.Pointer, decide func(cur resource.Resource) (decision, error)) (resource.Resource, error) {
	key := s.key(ptr)

	s.mu.Lock()
	cur, since := s.known[key], s.at
	s.mu.Unlock()

	for seen := int64(0); ; { // the revision at which etcd returned cur; 0 if cur is from the copy
		d, refused := s.decide(cur, decide)

		if refused == nil && d.changes() {
			newest, revision, err := s.swap(ctx, key, cur, d, since)
			if err != nil {
				return nil, err
			}

			if newest == nil {
				return d.next, nil
			}

			cur, seen = *newest, revision

			continue
		}

		if seen == 0 {
			newest, revision, err := s.read(ctx, key)
			if err != nil {
				return nil, err
			}

			if !newest.same(cur) || revision < since.applied {
				cur, seen = newest, revision

				continue
			}
		} else if err := s.see(ctx, seen, since); err != nil {
			return nil, errors.Join(refused, err)
		}

		if refused != nil {
			return nil, refused
		}

		return cur.Resource, nil
	}
}

func (d decision) changes() bool { return d.destroy || d.next != nil }

// decide calls decide. A value that cannot be decoded is not replaced.
func (s *Store) decide(cur version, decide func(cur resource.Resource) (decision, error)) (decision, error) {
	if cur.unreadable != nil {
		return decision{}, fmt.Errorf("the stored value cannot be decoded: %w", cur.unreadable)
	}

	return decide(cur.Resource)
}

// see waits until the copy has the revision, so a caller that reads afterwards does not see an older version than its result.
func (s *Store) see(ctx context.Context, revision int64, since position) error {
	err := s.reach(ctx, revision, since)
	if errors.Is(err, errRestored) {
		err = nil // the copy has been read again since
	}

	return err
}

// swap changes the key if it has the version that the change was decided on, and waits until the copy has the change. If
// the key has another version, swap returns that version and the revision at which etcd returned it.
func (s *Store) swap(
	ctx context.Context, key string, cur version, d decision, since position,
) (newest *version, revision int64, err error) {
	op, value := clientv3.OpDelete(key), []byte(nil)

	if !d.destroy {
		if value, err = resource.MarshalWire(d.next); err != nil {
			return nil, 0, err
		}

		op = clientv3.OpPut(key, string(value))
	}

	lock, fence := fenceOf(ctx)
	otherwise := []clientv3.Op{clientv3.OpGet(key)}

	if lock != nil {
		otherwise = append(otherwise, lock.read())
	}

	res, err := s.client.Txn(ctx).If(append(cur.unchanged(key), fence...)...).Then(op).Else(otherwise...).Commit()
	if err != nil {
		return nil, 0, err
	}

	if !res.Succeeded {
		if lock != nil && !lock.isIn(res.Responses[1]) {
			return nil, 0, fmt.Errorf("write key %q: %w", key, ErrFenced)
		}

		v := s.versionOf((*clientv3.GetResponse)(res.Responses[0].GetResponseRange()))

		return &v, res.Header.Revision, nil
	}

	since.applied++ // a change has a new revision

	err = s.reach(ctx, res.Header.Revision, since)
	if errors.Is(err, errRestored) {
		err = s.confirm(ctx, key, string(value), d.destroy)
	}

	return nil, 0, err
}

// confirm checks that etcd has a change that was made while etcd was restored.
func (s *Store) confirm(ctx context.Context, key, value string, destroyed bool) error {
	since := s.position()

	v, revision, err := s.read(ctx, key)
	if err != nil {
		return err
	}

	if (destroyed && v.revision != 0) || (!destroyed && v.value != value) {
		return fmt.Errorf("%w while key %q was written, and does not have the change", errRestored, key)
	}

	return s.see(ctx, revision, since)
}

// read reads the key from etcd, and also returns etcd's revision.
func (s *Store) read(ctx context.Context, key string) (version, int64, error) {
	res, err := s.client.Get(ctx, key)
	if err != nil {
		return version{}, 0, err
	}

	return s.versionOf(res), res.Header.Revision, nil
}

func (s *Store) versionOf(res *clientv3.GetResponse) version {
	if len(res.Kvs) == 0 {
		return version{}
	}

	return s.decode(res.Kvs[0], nil)
}

// Create implements state.State.
func (s *Store) Create(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	o := state.NewWriteOptions(opts...)
	md := r.Metadata()
	ptr := md.Pointer()

	if err := state.CheckNewOwner("create", md, o.Owner); err != nil {
		return err
	}

	first := created(r.DeepCopy(), o)

	_, err := s.write(ctx, ptr, func(cur resource.Resource) (decision, error) {
		if cur != nil {
			return decision{}, state.NewError(state.AlreadyExists, "create", ptr, "already exists")
		}

		return first, nil
	})
	if err != nil {
		return err
	}

	state.WriteBack(md, first.next.Metadata())

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

// change replaces the version of an existing resource by the one that fn returns: an unsealed resource, which the store
// keeps, or cur if there is nothing to change.
func (s *Store) change(ctx context.Context, op string, ptr resource.Pointer, fn func(cur resource.Resource) (resource.Resource, error)) (resource.Resource, error) {
	return s.write(ctx, ptr, func(cur resource.Resource) (decision, error) {
		if cur == nil {
			return decision{}, state.NewError(state.NotFound, op, ptr, "does not exist")
		}

		next, err := fn(cur)
		if err != nil || next == cur {
			return decision{}, err
		}

		return succeed(cur, next), nil
	})
}

// created decides to create a resource.
func created(next resource.Resource, o state.WriteOptions) decision {
	at := o.Created
	if at.IsZero() {
		at = time.Now()
	}

	next.Metadata().Begin(o.Owner, at.UnixNano())
	next.Metadata().Seal()

	return decision{next: next}
}

// succeed decides to replace the current version by the next one.
func succeed(cur, next resource.Resource) decision {
	next.Metadata().Succeed(cur.Metadata(), time.Now().UnixNano())

	return decision{next: next}
}

// Destroy implements state.State.
func (s *Store) Destroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	o := state.NewWriteOptions(opts...)

	_, err := s.write(ctx, ptr, func(cur resource.Resource) (decision, error) {
		if cur == nil {
			return decision{}, state.NewError(state.NotFound, "destroy", ptr, "does not exist")
		}

		return decision{destroy: true}, state.CheckDestroy(cur, o)
	})

	return err
}
