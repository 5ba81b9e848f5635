// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// fill returns a function for Modify that puts parts into the spec without a copy.
func fill(parts []string) func(resource.Resource) error {
	return func(r resource.Resource) error {
		r.(Item).TypedSpec().Parts = parts // the tests' own

		return nil
	}
}

var sharingTests = []test{
	{"a writer may keep and change its spec", func(b *bench) {
		var kept *ItemSpec

		for _, tt := range []struct {
			name  string
			write func(id string, parts []string)
		}{
			{"create", func(id string, parts []string) {
				r := NewItem(ns, id, "")
				r.TypedSpec().Parts = parts
				b.ok(b.Create(b.ctx, r))
			}},
			{"update", func(id string, parts []string) {
				r := b.create(id)
				r.TypedSpec().Parts = parts
				b.ok(b.Update(b.ctx, r))
			}},
			{"modify of a missing resource", func(id string, parts []string) {
				b.ok(errOf(b.Modify(b.ctx, NewItem(ns, id, ""), fill(parts))))
			}},
			{"modify", func(id string, parts []string) {
				b.create(id)

				b.ok(errOf(b.Modify(b.ctx, NewItem(ns, id, ""), fill(parts))))
			}},
			{"update with conflicts", func(id string, parts []string) {
				b.create(id)

				b.ok(errOf(b.UpdateWithConflicts(b.ctx, ptr(id), fill(parts))))
			}},
			{"the spec itself", func(id string, parts []string) {
				_, err := b.Modify(b.ctx, NewItem(ns, id, ""), func(r resource.Resource) error {
					kept = b.item(r).TypedSpec()
					kept.Parts = parts

					return nil
				})
				b.ok(err)

				kept.Parts = []string{"changed"}
			}},
		} {
			parts := []string{"a", "b"}
			tt.write(tt.name, parts)
			parts[0] = "changed"

			stored := b.get(tt.name)
			if got := stored.TypedSpec().Parts; len(got) != 2 || got[0] != "a" {
				b.Errorf("%s: the stored parts became %q without a write", tt.name, got)
			}

			// The same change by a write is a change.
			r, err := b.UpdateWithConflicts(b.ctx, ptr(tt.name), fill(parts))
			b.ok(err)

			equal(b, tt.name+": version of the next write", r.Metadata().Version(), stored.Metadata().Version()+1)
		}
	}},

	{"an equal spec changes nothing", func(b *bench) {
		at := time.Now().In(time.FixedZone("somewhere", 3600))

		for _, tt := range []struct {
			name string
			spec ItemSpec
		}{
			{"nothing", ItemSpec{}},
			{"empty list", ItemSpec{Parts: []string{}}},
			{"time with a location", ItemSpec{At: at}},
			{"all", ItemSpec{Value: "v", Parts: []string{"a", ""}, At: at}},
		} {
			for range 3 {
				r, err := b.Modify(b.ctx, NewItem(ns, tt.name, ""), func(r resource.Resource) error {
					*b.item(r).TypedSpec() = tt.spec

					return nil
				})
				b.ok(err)

				equal(b, tt.name+": version of the same again", r.Metadata().Version(), 1)
			}
		}
	}},

	{"text that is not UTF-8 is refused", func(b *bench) {
		const bad = "\xff"

		b.create("good")

		label := func(md *resource.Metadata) { md.SetLabel("k", bad) }

		for _, tt := range []struct {
			name  string
			write func() error
		}{
			{"create", func() error { return b.Create(b.ctx, NewItem(ns, "bad", bad)) }},
			{"create an id", func() error { return b.Create(b.ctx, NewItem(ns, bad, "")) }},
			{"create for an owner", func() error { return b.Create(b.ctx, NewItem(ns, "bad", ""), state.WithOwner(bad)) }},
			{"create with a label", func() error {
				r := NewItem(ns, "bad", "")
				label(r.Metadata())

				return b.Create(b.ctx, r)
			}},
			{"modify of a missing resource", func() error {
				_, err := b.Modify(b.ctx, NewItem(ns, "bad", ""), fill([]string{bad}))

				return err
			}},
			{"update", func() error {
				r := b.item(b.get("good").DeepCopy())
				r.TypedSpec().Value = bad

				return b.Update(b.ctx, r)
			}},
			{"modify", func() error {
				_, err := b.Modify(b.ctx, NewItem(ns, "good", ""), fill([]string{bad}))

				return err
			}},
			{"modify a label", func() error {
				_, err := b.UpdateWithConflicts(b.ctx, ptr("good"), func(r resource.Resource) error {
					label(r.Metadata())

					return nil
				})

				return err
			}},
			{"add a finalizer", func() error { return b.AddFinalizer(b.ctx, ptr("good"), bad) }},
		} {
			if err := tt.write(); err == nil {
				b.Errorf("%s: text that is not UTF-8 was stored", tt.name)
			}
		}

		equal(b, "list", b.list(), "good")

		equal(b, "version of the good one", b.get("good").Metadata().Version(), 1)
	}},
}
