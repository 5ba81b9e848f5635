// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// TestLabelIndex compares results of the index with those of a scan, while everything changes.
func TestLabelIndex(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)

	r := rand.New(rand.NewPCG(seed, 0))
	st := memory.New()
	kind := pathPtr("").Kind()

	queries := [][]resource.LabelQuery{
		{{Terms: []resource.LabelTerm{resource.LabelIs("a", "1")}}},
		{{Terms: []resource.LabelTerm{resource.HasLabel("b")}}},
		{{Terms: []resource.LabelTerm{resource.LabelIsIn("a", "1", "2", "2")}}},
		{{Terms: []resource.LabelTerm{resource.LabelIs("a", "1"), resource.LabelIs("b", "2")}}},
		{{Terms: []resource.LabelTerm{resource.Not(resource.LabelIs("b", "0")), resource.LabelIs("a", "0")}}},
		{{Terms: []resource.LabelTerm{resource.LabelIs("a", "1")}}, {Terms: []resource.LabelTerm{resource.LabelIs("b", "1")}}},
		{{Terms: []resource.LabelTerm{resource.LabelIs("a", "1")}}, {Terms: []resource.LabelTerm{resource.Not(resource.HasLabel("b"))}}},
		{{Terms: []resource.LabelTerm{resource.LabelIs("none", "1")}}},
	}

	for round := range 400 {
		for range r.IntN(20) + 1 {
			p := pathPtr(fmt.Sprint(r.IntN(150)))

			switch r.IntN(6) {
			case 0:
				if err := st.Destroy(t.Context(), p); err != nil && !state.IsNotFound(err) {
					t.Fatal(err)
				}
			case 1: // a version of another Go type moves to another cell
				cur, err := st.Get(t.Context(), p)
				if err != nil {
					continue
				}

				ok(t, st.Update(t.Context(), resource.NewOpaque(cur.Metadata().Copy(), resource.RawSpec{})))
			default:
				_, err := st.Modify(t.Context(), resource.New[emptySpec]("", p.ID), func(res resource.Resource) error {
					key := [2]string{"a", "b"}[r.IntN(2)]
					if v := r.IntN(4); v < 3 {
						res.Metadata().SetLabel(key, fmt.Sprint(v))
					} else {
						res.Metadata().DeleteLabel(key)
					}

					return nil
				})
				ok(t, err)
			}
		}

		all, err := st.List(t.Context(), kind)
		ok(t, err)

		for i, q := range queries {
			var opts []state.ListOption
			for _, one := range q {
				opts = append(opts, state.WithLabelQuery(one.Terms...))
			}

			var want, got []string

			for _, res := range all {
				if resource.MatchAnyQuery(q, res.Metadata().Labels()) {
					want = append(want, res.Metadata().String())
				}
			}

			items, err := st.List(t.Context(), kind, opts...)
			ok(t, err)

			for _, res := range items {
				got = append(got, res.Metadata().String())
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("round %d, query %d (-scan +index):\n%s", round, i, diff)
			}
		}
	}
}

// BenchmarkListLabelled lists one resource in a thousand of 100,000.
func BenchmarkListLabelled(b *testing.B) {
	const n = 100_000

	st := memory.New()

	for i := range n {
		r := resource.New[emptySpec]("", fmt.Sprint(i))
		r.Metadata().SetLabel("group", fmt.Sprint(i%1000))
		ok(b, st.Create(b.Context(), r))
	}

	query := state.WithLabelQuery(resource.LabelIs("group", "7"))

	b.ReportAllocs()

	for b.Loop() {
		if items, err := st.List(b.Context(), pathPtr("").Kind(), query); err != nil || len(items) != n/1000 {
			b.Fatal(len(items), err)
		}
	}
}
