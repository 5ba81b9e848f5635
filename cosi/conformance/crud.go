// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

var crudTests = []test{
	{"missing resource", func(b *bench) {
		b.wantClass("get", errOf(b.Get(b.ctx, ptr("none"))), state.NotFound)
		b.wantClass("update", b.Update(b.ctx, NewItem(ns, "none", "")), state.NotFound)
		b.wantClass("destroy", b.Destroy(b.ctx, ptr("none")), state.NotFound)
		b.wantClass("teardown", errOf(b.Teardown(b.ctx, ptr("none"))), state.NotFound)
		b.wantClass("teardown and destroy", b.TeardownAndDestroy(b.ctx, ptr("none")), state.NotFound)
		b.wantClass("add finalizer", b.AddFinalizer(b.ctx, ptr("none"), "f"), state.NotFound)
		b.wantClass("remove finalizer", b.RemoveFinalizer(b.ctx, ptr("none"), "f"), state.NotFound)
		b.wantClass("update with conflicts", errOf(b.UpdateWithConflicts(b.ctx, ptr("none"), func(resource.Resource) error { return nil })), state.NotFound)

		equal(b, "list", b.list(), "")
	}},

	{"create", func(b *bench) {
		before := time.Now().Add(-time.Second)
		mine := b.create("a")
		stored := b.get("a")

		for what, md := range map[string]*resource.Metadata{"the caller's": mine.Metadata(), "the stored": stored.Metadata()} {
			if md.Version() != 1 || md.Phase() != resource.PhaseRunning || md.Owner() != "" {
				b.Errorf("%s: got %s %s %q, want version 1, running, no owner", what, md, md.Phase(), md.Owner())
			}
		}

		if c := stored.Metadata().Created(); c.Before(before) || c.After(time.Now().Add(time.Second)) {
			b.Errorf("created: got %s, want now", c)
		}

		equal(b, "spec", stored.TypedSpec().Value, "of a")

		b.wantClass("again", b.Create(b.ctx, NewItem(ns, "a", "other")), state.AlreadyExists)
		b.ok(b.Create(b.ctx, NewItem(ns+"-other", "a", "other")))

		equal(b, "spec after a refused create", b.get("a").TypedSpec().Value, "of a")
	}},

	{"the state keeps a copy", func(b *bench) {
		r := NewItem(ns, "a", "1")
		r.TypedSpec().Parts = []string{"x", "y"}
		r.Metadata().SetLabel("k", "1")
		b.ok(b.Create(b.ctx, r))

		r.TypedSpec().Parts[0] = "changed"
		r.Metadata().SetLabel("k", "2")

		got := b.get("a")
		equal(b, "parts", got.TypedSpec().Parts, []string{"x", "y"})

		if v, _ := got.Metadata().Labels().Get("k"); v != "1" {
			b.Errorf("label: got %q, want 1", v)
		}

		// A copy may be changed, and the original stays as it was.
		c := b.item(got.DeepCopy())
		c.TypedSpec().Parts[0] = "changed"
		c.Metadata().AddFinalizer("f")

		if again := b.get("a"); again.TypedSpec().Parts[0] != "x" || len(again.Metadata().Finalizers()) != 0 {
			b.Errorf("got %v %v, want it as it was", again.TypedSpec(), again.Metadata().Finalizers())
		}
	}},

	{"all parts of a resource are kept", func(b *bench) {
		r := NewItem(ns, "id/with:odd chars\t☃", "v")
		md := r.Metadata()
		md.SetLabel("l1", "a")
		md.SetLabel("l2", "")
		md.SetAnnotation("n", "line\nline")
		md.AddFinalizer("f2")
		md.AddFinalizer("f1")
		md.SetPhase(resource.PhaseTearingDown)
		b.ok(b.Create(b.ctx, r, state.WithOwner("me")))

		got, err := b.Get(b.ctx, md.Pointer())
		b.ok(err)

		if !resource.Equal(got, r) {
			b.Errorf("got %v, want %v", got.Metadata(), md)
		}

		equal(b, "finalizers", got.Metadata().Finalizers(), []string{"f2", "f1"})
	}},

	{"empty id", func(b *bench) {
		b.create("")

		equal(b, "id", b.get("").Metadata().ID(), "")
	}},

	{"update", func(b *bench) {
		r := b.create("a")
		created := b.get("a").Metadata().Created()

		r.TypedSpec().Value = "2"
		b.ok(b.Update(b.ctx, r))

		equal(b, "the caller's version", r.Metadata().Version(), 2)

		got := b.get("a")
		if got.TypedSpec().Value != "2" || got.Metadata().Version() != 2 {
			b.Errorf("got %s %v, want version 2 with 2", got.Metadata(), got.TypedSpec())
		}

		if !got.Metadata().Created().Equal(created) {
			b.Errorf("created: got %s, want %s", got.Metadata().Created(), created)
		}

		b.ok(b.Update(b.ctx, r)) // the same contents are a new version too

		equal(b, "version", b.get("a").Metadata().Version(), 3)
	}},

	{"update of another version", func(b *bench) {
		r := b.create("a")
		stale := b.item(r.DeepCopy())
		b.ok(b.Update(b.ctx, r))
		b.wantConflict("stale", b.Update(b.ctx, stale))

		future := b.item(r.DeepCopy())
		future.Metadata().SetVersion(99)
		b.wantConflict("future", b.Update(b.ctx, future))
		b.wantConflict("undefined", b.Update(b.ctx, NewItem(ns, "a", "")))

		equal(b, "version", b.get("a").Metadata().Version(), 2)
	}},

	{"update of an earlier life", func(b *bench) {
		b.create("a")
		earlier := b.item(b.get("a").DeepCopy())

		b.ok(b.Destroy(b.ctx, earlier.Metadata().Pointer()))
		b.create("a") // versions begin again

		b.wantConflict("earlier", b.Update(b.ctx, earlier))

		equal(b, "version", b.get("a").Metadata().Version(), 1)
	}},

	{"create with a time, then create again", func(b *bench) {
		at := time.Unix(1e9, 5)

		// Clients of the reference implementation do so over the wire: they update the resource that they created.
		r := b.create("a", state.WithCreated(at))
		b.ok(b.Update(b.ctx, r))

		if got := b.get("a").Metadata().Created(); !got.Equal(at) {
			b.Errorf("created: got %s, want %s", got, at)
		}

		b.ok(b.Destroy(b.ctx, r.Metadata().Pointer()))
		b.ok(b.Create(b.ctx, r)) // a new life

		if got := b.get("a").Metadata().Created(); got.Equal(at) || !got.Equal(r.Metadata().Created()) {
			b.Errorf("created again: got %s, the caller's is %s, want another than %s", got, r.Metadata().Created(), at)
		}
	}},

	{"update in a phase", func(b *bench) {
		r := b.create("a")
		r.Metadata().SetPhase(resource.PhaseTearingDown)
		b.ok(b.Update(b.ctx, r))

		r.TypedSpec().Value = "2"
		err := b.Update(b.ctx, r)
		b.wantClass("running by default", err, state.PhaseConflict)

		if !state.IsPhaseConflict(err) || !state.IsConflict(err) {
			b.Errorf("%v is not a phase conflict and a conflict", err)
		}

		b.ok(b.Update(b.ctx, r, state.WithExpectedPhase(resource.PhaseTearingDown)))
		b.ok(b.Update(b.ctx, r, state.WithAnyPhase()))
		b.wantClass("running", b.Update(b.ctx, r, state.WithExpectedPhase(resource.PhaseRunning)), state.PhaseConflict)
	}},

	{"destroy and create again", func(b *bench) {
		b.create("a")
		b.set("a", "2")
		b.ok(b.Destroy(b.ctx, ptr("a")))

		b.wantClass("get", errOf(b.Get(b.ctx, ptr("a"))), state.NotFound)
		b.wantClass("destroy", b.Destroy(b.ctx, ptr("a")), state.NotFound)

		if r := b.create("a"); r.Metadata().Version() != 1 {
			b.Errorf("version: got %d, want 1", r.Metadata().Version())
		}
	}},

	{"many at once", func(b *bench) {
		var wg sync.WaitGroup

		for i := range 50 {
			wg.Go(func() {
				id := fmt.Sprintf("%02d", i)
				r := NewItem(ns, id, id)

				if err := b.Create(b.ctx, r); err != nil {
					b.Error(err)
				}

				for range 3 {
					if err := b.Update(b.ctx, r); err != nil {
						b.Error(err)
					}
				}

				if i%2 == 1 {
					if err := b.Destroy(b.ctx, ptr(id)); err != nil {
						b.Error(err)
					}
				}
			})
		}

		wg.Wait()

		want := ""
		for i := 0; i < 50; i += 2 {
			want += fmt.Sprintf("%02d ", i)
		}

		equal(b, "list", b.list()+" ", want)
	}},

	{"destroy at once", func(b *bench) {
		b.create("/")

		var (
			wg      sync.WaitGroup
			results = make([]error, 10)
			done    int
		)

		for i := range results {
			wg.Go(func() { results[i] = b.Destroy(b.ctx, ptr("/")) })
		}

		wg.Wait()

		for _, err := range results {
			switch {
			case err == nil:
				done++
			case !state.IsNotFound(err):
				b.Errorf("got %v, want success or not found", err)
			}
		}

		if done != 1 {
			b.Errorf("successes: got %d, want 1", done)
		}
	}},
}
