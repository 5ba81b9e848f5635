// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

var ownerTests = []test{
	{"owner", func(b *bench) {
		me, other := state.WithOwner("me"), state.WithOwner("other")

		r := b.create("a", me)
		equal(b, "the caller's owner", r.Metadata().Owner(), "me")

		equal(b, "the stored owner", b.get("a").Metadata().Owner(), "me")

		for what, opts := range map[string][]state.WriteOption{"no owner": nil, "other": {other}} {
			b.wantClass("update by "+what, b.Update(b.ctx, r, opts...), state.OwnerConflict)
			b.wantClass("destroy by "+what, b.Destroy(b.ctx, ptr("a"), opts...), state.OwnerConflict)

			_, err := b.Teardown(b.ctx, ptr("a"), opts...)
			b.wantClass("teardown by "+what, err, state.OwnerConflict)
			b.wantClass("teardown and destroy by "+what, b.TeardownAndDestroy(b.ctx, ptr("a"), opts...), state.OwnerConflict)

			_, err = b.UpdateWithConflicts(b.ctx, ptr("a"), func(r resource.Resource) error {
				b.item(r).TypedSpec().Value = "theirs"

				return nil
			}, opts...)
			b.wantClass("modify by "+what, err, state.OwnerConflict)
		}

		b.ok(b.Update(b.ctx, r, me))
		b.ok(b.AddFinalizer(b.ctx, ptr("a"), "f")) // without being the owner
		b.ok(b.RemoveFinalizer(b.ctx, ptr("a"), "f"))

		b.ok(errOf(b.Teardown(b.ctx, ptr("a"), me)))

		b.wantClass("second teardown by other", errOf(b.Teardown(b.ctx, ptr("a"), other)), state.OwnerConflict)
		b.ok(b.Destroy(b.ctx, ptr("a"), me))
	}},

	{"owner of a resource without an owner", func(b *bench) {
		r := b.create("a")
		b.wantClass("update", b.Update(b.ctx, r, state.WithOwner("me")), state.OwnerConflict)
		b.wantClass("destroy", b.Destroy(b.ctx, ptr("a"), state.WithOwner("me")), state.OwnerConflict)
	}},

	{"an owner is set once", func(b *bench) {
		r := NewItem(ns, "a", "")
		r.Metadata().SetOwner("me")

		if err := b.Create(b.ctx, r, state.WithOwner("other")); err == nil {
			b.Error("create as other of a resource of me succeeded")
		}

		if err := b.Create(b.ctx, r); err == nil {
			b.Error("create without an owner of a resource of me succeeded")
		}

		b.ok(b.Create(b.ctx, r, state.WithOwner("me")))
	}},

	{"an update does not change the owner", func(b *bench) {
		r := b.create("a", state.WithOwner("me"))
		r.Metadata().SetOwner("other")
		b.ok(b.Update(b.ctx, r, state.WithOwner("me")))

		equal(b, "owner", b.get("a").Metadata().Owner(), "me")
	}},
}

var finalizerTests = []test{
	{"finalizers", func(b *bench) {
		b.create("a")
		b.ok(b.AddFinalizer(b.ctx, ptr("a"), "x", "y"))
		b.ok(b.AddFinalizer(b.ctx, ptr("a"), "y", "z"))

		equal(b, "finalizers", b.get("a").Metadata().Finalizers(), []string{"x", "y", "z"})

		version := b.get("a").Metadata().Version()
		b.ok(b.AddFinalizer(b.ctx, ptr("a"), "x"))
		b.ok(b.RemoveFinalizer(b.ctx, ptr("a"), "none"))

		equal(b, "version after nothing changed", b.get("a").Metadata().Version(), version)

		b.wantConflict("destroy", b.Destroy(b.ctx, ptr("a")))
		b.ok(b.RemoveFinalizer(b.ctx, ptr("a"), "x", "z"))

		equal(b, "finalizers", b.get("a").Metadata().Finalizers(), []string{"y"})

		equal(b, "spec", b.get("a").TypedSpec().Value, "of a")
	}},

	{"finalizers at once", func(b *bench) {
		r := NewItem(ns, "a", "")
		r.Metadata().AddFinalizer("A", "B", "C")
		b.ok(b.Create(b.ctx, r))

		errs := make(chan error, 11)

		for _, f := range []string{"A", "B", "C"} {
			go func() { errs <- b.RemoveFinalizer(b.ctx, ptr("a"), f) }()
		}

		for _, f := range []string{"D", "E", "F", "G", "H"} {
			go func() { errs <- b.AddFinalizer(b.ctx, ptr("a"), f) }()
		}

		for range 8 {
			b.ok(<-errs)
		}

		md := b.get("a").Metadata()
		for _, f := range []string{"D", "E", "F", "G", "H"} {
			if !md.HasFinalizer(f) {
				b.Errorf("got %v, want %s in it", md.Finalizers(), f)
			}
		}

		if len(md.Finalizers()) != 5 {
			b.Errorf("got %v, want D to H", md.Finalizers())
		}
	}},

	{"teardown", func(b *bench) {
		b.create("a")
		b.ok(b.AddFinalizer(b.ctx, ptr("a"), "x"))

		for range 2 {
			if b.teardown("a") {
				b.Error("ready with a finalizer")
			}
		}

		if md := b.get("a").Metadata(); md.Phase() != resource.PhaseTearingDown || md.Version() != 3 {
			b.Errorf("got %s %s, want version 3 tearing down", md, md.Phase())
		}

		b.ok(b.AddFinalizer(b.ctx, ptr("a"), "y")) // also now
		b.ok(b.RemoveFinalizer(b.ctx, ptr("a"), "x", "y"))

		if !b.teardown("a") {
			b.Error("not ready without finalizers")
		}

		b.ok(b.Destroy(b.ctx, ptr("a")))
	}},

	{"teardown and destroy waits", func(b *bench) {
		b.create("a")
		b.ok(b.AddFinalizer(b.ctx, ptr("a"), "x"))

		ch := b.watchKind()
		done := make(chan error, 1)

		go func() { done <- b.TeardownAndDestroy(b.ctx, ptr("a")) }()

		if ev := ch.next(); ev.Resource.Metadata().Phase() != resource.PhaseTearingDown {
			b.Errorf("got %v, want tearing down", ev)
		}

		select {
		case err := <-done:
			b.Fatalf("done with a finalizer: %v", err)
		default:
		}

		b.ok(b.RemoveFinalizer(b.ctx, ptr("a"), "x"))
		b.ok(<-done)

		b.wantClass("get", errOf(b.Get(b.ctx, ptr("a"))), state.NotFound)
	}},

	{"teardown and destroy without finalizers", func(b *bench) {
		b.create("a", state.WithOwner("me"))
		b.ok(b.TeardownAndDestroy(b.ctx, ptr("a"), state.WithOwner("me")))

		equal(b, "list", b.list(), "")
	}},

	{"teardown and destroy at once", func(b *bench) {
		b.create("a")
		b.ok(b.AddFinalizer(b.ctx, ptr("a"), "x"))

		errs := make(chan error, 10)
		for range 10 {
			go func() { errs <- b.TeardownAndDestroy(b.ctx, ptr("a")) }()
		}

		b.ok(errOf(b.WatchFor(b.ctx, ptr("a"), state.PhaseIs(resource.PhaseTearingDown))))
		b.ok(b.RemoveFinalizer(b.ctx, ptr("a"), "x"))

		for range 10 {
			if err := <-errs; err != nil && !state.IsNotFound(err) {
				b.Errorf("got %v, want success or not found", err)
			}
		}
	}},

	{"teardown and destroy ends with its context", func(b *bench) {
		b.create("a")
		b.ok(b.AddFinalizer(b.ctx, ptr("a"), "x"))

		ctx, cancel := context.WithCancel(b.ctx)
		done := make(chan error, 1)

		go func() { done <- b.TeardownAndDestroy(ctx, ptr("a")) }()

		b.ok(errOf(b.WatchFor(b.ctx, ptr("a"), state.PhaseIs(resource.PhaseTearingDown))))
		cancel()

		if err := <-done; err == nil {
			b.Error("succeeded with a finalizer")
		}
	}},
}
