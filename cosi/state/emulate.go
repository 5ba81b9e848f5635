// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// core is the part of a driver that the emulations below need.
type core interface {
	Reader
	Create(ctx context.Context, r resource.Resource, opts ...WriteOption) error
	Update(ctx context.Context, r resource.Resource, opts ...WriteOption) error
}

// ModifyByUpdate implements Modify with Get, Create and Update. It tries again after a conflict with another writer.
func ModifyByUpdate(ctx context.Context, st core, empty resource.Resource, fn func(resource.Resource) error, opts ...WriteOption) (resource.Resource, error) {
	for wait := newPause(); ; {
		ptr := empty.Metadata().Pointer()

		cur, err := st.Get(ctx, ptr, WithCurrent())
		if err == nil {
			next, gone, err := updateFrom(ctx, st, cur, fn, wait, opts...)
			if !gone {
				return next, err
			}
		} else if !IsNotFound(err) {
			return nil, err
		}

		next := empty.DeepCopy()
		if err := Change(ptr, next, fn); err != nil {
			return nil, err
		}

		err = st.Create(ctx, next, opts...)
		if err == nil {
			next.Metadata().Seal()

			return next, nil
		}

		if ClassOf(err) != AlreadyExists {
			return nil, err
		}

		if err := wait.next(ctx); err != nil {
			return nil, err
		}
	}
}

// UpdateByUpdate implements UpdateWithConflicts with Get and Update.
func UpdateByUpdate(ctx context.Context, st core, ptr resource.Pointer, fn func(resource.Resource) error, opts ...WriteOption) (resource.Resource, error) {
	cur, err := st.Get(ctx, ptr, WithCurrent())
	if err != nil {
		return nil, err
	}

	r, _, err := updateFrom(ctx, st, cur, fn, newPause(), opts...)

	return r, err
}

// updateFrom changes an existing resource. gone reports whether it failed because the resource does not exist any more; the
// class of the error is not enough, because fn may return a NotFound about another resource.
func updateFrom(
	ctx context.Context, st core, cur resource.Resource, fn func(resource.Resource) error, wait *pause, opts ...WriteOption,
) (r resource.Resource, gone bool, err error) {
	o := NewWriteOptions(opts...)

	for {
		next, err := Edit(cur, fn, o)
		if err != nil {
			return nil, false, err
		}

		if resource.Equal(cur, next) {
			return cur, false, nil
		}

		err = st.Update(ctx, next, opts...)
		if err == nil {
			next.Metadata().Seal()

			return next, false, nil
		}

		if ClassOf(err) != VersionConflict {
			return nil, IsNotFound(err), err
		}

		if err := wait.next(ctx); err != nil {
			return nil, false, err
		}

		if cur, err = st.Get(ctx, cur.Metadata().Pointer(), WithCurrent()); err != nil {
			return nil, IsNotFound(err), err
		}
	}
}

// Edit returns a copy of the current version, changed by fn, if owner and phase allow a change.
func Edit(cur resource.Resource, fn func(resource.Resource) error, o WriteOptions) (resource.Resource, error) {
	if err := CheckOwner("modify", cur, o.Owner); err != nil {
		return nil, err
	}

	if err := CheckPhase("modify", cur, o.ExpectedPhase); err != nil {
		return nil, err
	}

	next := cur.DeepCopy()

	return next, Change(cur.Metadata().Pointer(), next, fn)
}

// Change runs fn on the next version of a resource, and refuses a change of its address.
func Change(ptr resource.Pointer, r resource.Resource, fn func(resource.Resource) error) error {
	if err := fn(r); err != nil {
		return err
	}

	if got := r.Metadata().Pointer(); got != ptr {
		return NewError(InvalidArgument, "modify", ptr, "became %s, a resource keeps its address", got)
	}

	return nil
}

// EditByUpdate changes only the metadata of an existing resource, as its owner and in any phase. It uses Get and Update.
func EditByUpdate(ctx context.Context, st core, ptr resource.Pointer, fn func(*resource.Metadata)) error {
	cur, err := st.Get(ctx, ptr, WithCurrent())
	if err != nil {
		return err
	}

	for {
		owner := cur.Metadata().Owner()

		_, _, failed := updateFrom(ctx, st, cur, func(r resource.Resource) error {
			fn(r.Metadata())

			return nil
		}, newPause(), WithOwner(owner), WithAnyPhase())
		if !IsOwnerConflict(failed) {
			return failed
		}

		// Another owner may have created it again. If not, the refusal is final.
		if cur, err = st.Get(ctx, ptr, WithCurrent()); err != nil {
			return err
		}

		if cur.Metadata().Owner() == owner {
			return failed
		}
	}
}

// TeardownByUpdate implements Teardown with Get and Update.
func TeardownByUpdate(ctx context.Context, st core, ptr resource.Pointer, opts ...WriteOption) (bool, error) {
	opts = append(opts[:len(opts):len(opts)], WithAnyPhase())

	r, err := UpdateByUpdate(ctx, st, ptr, func(r resource.Resource) error {
		r.Metadata().SetPhase(resource.PhaseTearingDown)

		return nil
	}, opts...)
	if err != nil {
		return false, err
	}

	return len(r.Metadata().Finalizers()) == 0, nil
}

// pause is the growing wait between attempts after conflicts.
type pause struct{ d time.Duration }

func newPause() *pause { return &pause{} }

func (p *pause) next(ctx context.Context) error {
	const most = 100 * time.Millisecond

	timer := time.NewTimer(p.d)
	defer timer.Stop()

	p.d = min(max(2*p.d, time.Millisecond), most)

	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
