// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// moment is a place in the history of etcd: life (before or after the restore) and revision.
type moment struct {
	life     int
	revision int64
}

// claim is the statement in the result of a call. The call was made at one moment and answered at another.
type claim struct {
	what     string
	id       string
	from, to moment

	// One of these two: a condition that must have held at some revision in between, or a change that must have happened.
	was      func(resource.Resource) bool
	happened func(change) bool
}

// holds reports whether the claim is true in one of the lives that it may be about.
func (c *claim) holds(lives [2]truth) bool {
	for life := c.from.life; life <= c.to.life; life++ {
		from, to := c.from.revision, c.to.revision

		if life > c.from.life {
			from = 0 // somewhere before the snapshot
		}

		if life < c.to.life {
			to = 1 << 62
		}

		was, changes := lives[life-1].between(c.id, from, to)
		if c.was != nil && c.was(was) {
			return true
		}

		for _, ch := range changes {
			if c.was != nil && c.was(ch.resource) || c.happened != nil && c.happened(ch) {
				return true
			}
		}
	}

	return false
}

func exists(r resource.Resource) bool { return r != nil }

func missingOne(r resource.Resource) bool { return r == nil }

// operate does one random operation on one of the resources, and returns the claim of the result, nil if there is none.
func operate(ctx context.Context, st state.State, r *rand.Rand, number int) *claim {
	id := fmt.Sprint("r", r.IntN(12))
	ptr := resource.PointerOf[conformance.ItemSpec](ns, id)
	unique := fmt.Sprint("v", number)
	finalizer := fmt.Sprint("f", r.IntN(3))
	c := &claim{id: id}

	var err error

	switch r.IntN(10) {
	case 0, 1:
		c.what, c.happened = "create", func(ch change) bool { return ch.typ == state.Created && value(ch.resource) == unique }
		err = st.Create(ctx, conformance.NewItem(ns, id, unique))
	case 2:
		cur, getErr := st.Get(ctx, ptr)
		if getErr != nil {
			return nil // a read of the copy, which may be old
		}

		next := cur.DeepCopy()
		next.(conformance.Item).TypedSpec().Value = unique
		version := cur.Metadata().Version() + 1
		c.what, c.happened = "update", func(ch change) bool {
			return ch.typ == state.Updated && value(ch.resource) == unique && ch.resource.Metadata().Version() == version
		}
		err = st.Update(ctx, next, state.WithAnyPhase())
	case 3, 4, 5:
		want := unique
		if r.IntN(2) == 0 {
			want = "again" // often no change
		}

		c.what, c.was = "set", func(r resource.Resource) bool { return r != nil && value(r) == want }
		_, err = st.Modify(ctx, conformance.NewItem(ns, id, ""), func(r resource.Resource) error {
			r.(conformance.Item).TypedSpec().Value = want

			return nil
		}, state.WithAnyPhase())
	case 6:
		c.what, c.was = "add finalizer", func(r resource.Resource) bool { return r != nil && r.Metadata().HasFinalizer(finalizer) }
		err = st.AddFinalizer(ctx, ptr, finalizer)
	case 7:
		c.what, c.was = "remove finalizers", func(r resource.Resource) bool { return r != nil && len(r.Metadata().Finalizers()) == 0 }
		err = st.RemoveFinalizer(ctx, ptr, "f0", "f1", "f2")
	case 8:
		var ready bool

		ready, err = st.Teardown(ctx, ptr)
		c.what, c.was = "teardown", func(r resource.Resource) bool {
			return r != nil && r.Metadata().Phase() == resource.PhaseTearingDown && ready == (len(r.Metadata().Finalizers()) == 0)
		}
	case 9:
		c.what, c.happened = "destroy", func(ch change) bool { return ch.typ == state.Destroyed }
		err = st.Destroy(ctx, ptr)
	}

	// A refusal is a claim too; a failed connection is not.
	switch class := state.ClassOf(err); {
	case err == nil:
		return c
	case class == state.NotFound:
		return &claim{what: c.what + ": not found", id: id, was: missingOne}
	case class == state.AlreadyExists:
		return &claim{what: c.what + ": exists", id: id, was: exists}
	case class == state.PendingFinalizers:
		return &claim{what: c.what + ": held", id: id, was: func(r resource.Resource) bool {
			return r != nil && len(r.Metadata().Finalizers()) > 0
		}}
	default:
		return nil
	}
}
