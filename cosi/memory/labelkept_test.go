// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"testing"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// TestIndexesAreFew queries labels in all ways that could make a writer slow.
func TestIndexesAreFew(t *testing.T) {
	kind := resource.Kind{Namespace: "n", Type: "t"}

	create := func(t *testing.T, s *State, id string, labels ...string) {
		t.Helper()

		r := resource.NewOpaque(resource.NewMetadata(kind.Namespace, kind.Type, id), resource.RawSpec{})
		for _, l := range labels {
			r.Metadata().SetLabel(l, "v")
		}

		if err := s.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}

	list := func(t *testing.T, s *State, label string) int {
		t.Helper()

		items, err := s.List(t.Context(), kind, state.WithLabelQuery(resource.LabelIs(label, "v")))
		if err != nil {
			t.Fatal(err)
		}

		return len(items)
	}

	fill := func(t *testing.T) *State {
		t.Helper()

		s := New()

		for i := range 100 {
			labels := []string{"all"}
			for l := range 30 {
				labels = append(labels, fmt.Sprint("label-", l))
			}

			create(t, s, fmt.Sprint(i), labels...)
		}

		return s
	}

	indexes := func(s *State) int { return len(s.lookup(kind).labelIndexes().keys) }

	t.Run("keys that nothing has", func(t *testing.T) {
		s := fill(t)

		for range 2 {
			for i := range 1000 {
				list(t, s, fmt.Sprint("none-", i))
			}
		}

		if n := indexes(s); n != 0 {
			t.Errorf("got %d indexes, want none", n)
		}
	})

	t.Run("a key that is asked for twice", func(t *testing.T) {
		s := fill(t)

		for range 3 {
			if n := list(t, s, "all"); n != 100 {
				t.Errorf("got %d resources, want 100", n)
			}
		}

		if n := indexes(s); n != 1 {
			t.Errorf("got %d indexes, want 1", n)
		}
	})

	t.Run("more keys than there may be", func(t *testing.T) {
		s := fill(t)

		for range 20 {
			for i := range 30 {
				for range 2 {
					if n := list(t, s, fmt.Sprint("label-", i)); n != 100 {
						t.Fatalf("got %d resources, want 100", n)
					}
				}
			}
		}

		if n := indexes(s); n == 0 || n > maxIndexes {
			t.Errorf("got %d indexes, want 1 to %d", n, maxIndexes)
		}

		if n := len(s.lookup(kind).labelIndexes().asked); n > maxIndexes {
			t.Errorf("%d keys are remembered, want at most %d", n, maxIndexes)
		}
	})

	t.Run("a key that is no longer queried", func(t *testing.T) {
		s := fill(t)

		list(t, s, "all")
		list(t, s, "all")

		for i := range idleChanges + 2 {
			create(t, s, fmt.Sprint("more-", i))
		}

		if n := indexes(s); n != 0 {
			t.Errorf("got %d indexes, want none", n)
		}

		if n := list(t, s, "all"); n != 100 {
			t.Errorf("got %d resources, want 100", n)
		}
	})

	t.Run("a key that nothing has any more", func(t *testing.T) {
		s := fill(t)

		list(t, s, "all")
		list(t, s, "all")

		for i := range 100 {
			if err := s.Destroy(t.Context(), resource.Pointer{Namespace: "n", Type: "t", ID: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}

		if n := indexes(s); n != 0 {
			t.Errorf("got %d indexes, want none", n)
		}
	})
}
