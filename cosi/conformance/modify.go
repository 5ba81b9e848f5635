// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"strconv"
	"sync"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

func (b *bench) modify(id, value string, opts ...state.WriteOption) (resource.Resource, error) {
	return b.Modify(b.ctx, NewItem(ns, id, ""), func(r resource.Resource) error {
		b.item(r).TypedSpec().Value = value

		return nil
	}, opts...)
}

var modifyTests = []test{
	{"modify creates, then updates", func(b *bench) {
		r, err := b.modify("a", "1", state.WithOwner("me"))
		b.ok(err)

		if md := r.Metadata(); md.Version() != 1 || md.Owner() != "me" {
			b.Errorf("got %s of %q, want version 1 of me", md, md.Owner())
		}

		r, err = b.modify("a", "2", state.WithOwner("me"))
		b.ok(err)

		if md := r.Metadata(); md.Version() != 2 || b.item(r).TypedSpec().Value != "2" {
			b.Errorf("got %s %v, want version 2 with 2", md, r.Spec())
		}

		b.wantClass("without an owner", errOf(b.modify("a", "3")), state.OwnerConflict)
	}},

	{"modify without a change", func(b *bench) {
		b.ok(errOf(b.modify("a", "1")))

		ch := b.watchKind()

		r, err := b.modify("a", "1")
		b.ok(err)

		equal(b, "version", r.Metadata().Version(), 1)

		// An event of the modify would come first.
		b.create("next")
		ch.want(state.Created, "next", 1)
	}},

	{"modify in a phase", func(b *bench) {
		b.create("a")
		b.teardown("a")

		b.wantClass("running by default", errOf(b.modify("a", "1")), state.PhaseConflict)
		b.wantClass("even without a change", errOf(b.modify("a", "of a")), state.PhaseConflict)
		b.ok(errOf(b.modify("a", "1", state.WithAnyPhase())))
		b.ok(errOf(b.modify("a", "2", state.WithExpectedPhase(resource.PhaseTearingDown))))
	}},

	{"modify that fails", func(b *bench) {
		failure := errors.New("no")
		fail := func(r resource.Resource) error {
			b.item(r).TypedSpec().Value = "changed"

			return failure
		}

		_, err := b.Modify(b.ctx, NewItem(ns, "a", ""), fail)
		if !errors.Is(err, failure) {
			b.Errorf("create: got %v, want %v", err, failure)
		}

		b.create("a")

		_, err = b.Modify(b.ctx, NewItem(ns, "a", ""), fail)
		if !errors.Is(err, failure) {
			b.Errorf("update: got %v, want %v", err, failure)
		}

		equal(b, "spec", b.get("a").TypedSpec().Value, "of a")

		// A NotFound error of fn is passed on, and does not lead to a creation.
		_, err = b.Modify(b.ctx, NewItem(ns, "a", ""), func(resource.Resource) error {
			_, err := b.Get(b.ctx, ptr("none"))

			return err
		})
		b.wantClass("not found within", err, state.NotFound)
	}},

	{"modify passes a copy", func(b *bench) {
		r := b.create("a")

		got := b.edit("a", func(i Item) {
			i.Metadata().SetLabel("k", "v")
			i.TypedSpec().Parts = []string{"x"}
		})

		if len(r.TypedSpec().Parts) != 0 || r.Metadata().Labels().Len() != 0 {
			b.Error("the caller's resource changed")
		}

		if v, _ := got.Metadata().Labels().Get("k"); v != "v" || len(got.TypedSpec().Parts) != 1 {
			b.Errorf("got %v, want the change", got)
		}
	}},

	{"modify keeps the address", func(b *bench) {
		_, err := b.Modify(b.ctx, NewItem(ns, "a", ""), func(r resource.Resource) error {
			md := resource.NewMetadata(ns, itemDefinition.Type, "b")
			*r.Metadata() = md

			return nil
		})
		if err == nil {
			b.Error("a resource changed its id")
		}

		equal(b, "list", b.list(), "")
	}},

	{"modify at once", func(b *bench) {
		const workers, each = 8, 25

		var wg sync.WaitGroup

		for range workers {
			wg.Go(func() {
				for range each {
					_, err := b.Modify(b.ctx, NewItem(ns, "counter", "0"), func(r resource.Resource) error {
						n, err := strconv.Atoi(b.item(r).TypedSpec().Value)
						b.item(r).TypedSpec().Value = strconv.Itoa(n + 1)

						return err
					})
					if err != nil {
						b.Error(err)
					}
				}
			})
		}

		wg.Wait()

		r := b.get("counter")
		equal(b, "spec", r.TypedSpec().Value, strconv.Itoa(workers*each))

		equal(b, "version", r.Metadata().Version(), uint64(workers*each))
	}},
}
