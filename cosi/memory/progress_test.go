// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"fmt"
	"testing"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// TestProgressOfOnes: many quiet watches of one resource each, which start at different times, keep a valid bookmark. Each
// gets a Noop event for half a history of changes, not more often.
func TestProgressOfOnes(t *testing.T) {
	const history, watches, changes = 64, 50, 2000

	st := memory.New(memory.WithHistory(history))
	busy := conformance.NewItem("n", "busy", "")

	change := func(value int) {
		_, err := st.Modify(t.Context(), busy, func(r resource.Resource) error {
			r.(conformance.Item).TypedSpec().Value = fmt.Sprint(value)

			return nil
		})
		ok(t, err)
	}

	quiet := func(i int) resource.Pointer {
		return conformance.NewItem("n", fmt.Sprint("quiet", i), "").Metadata().Pointer()
	}

	var all [watches]chan state.Event

	for i := range all {
		change(-i - 1)

		all[i] = make(chan state.Event, changes)
		ok(t, st.Watch(t.Context(), quiet(i), all[i], state.WithWatchProgress()))

		if ev := <-all[i]; ev.Type != state.Destroyed {
			t.Fatalf("watch %d: got event %d first, want that the resource does not exist", i, ev.Type)
		}
	}

	// The history is shorter before it is full.
	for i := range history {
		change(-i - watches - 1)
	}

	before := [watches]int{}
	for i, ch := range all {
		before[i] = len(ch)
	}

	for i := range changes {
		change(i)
	}

	for i, ch := range all {
		if n := len(ch) - before[i]; n == 0 || n > changes/(history/2)+1 {
			t.Errorf("watch %d: got %d events in %d changes with a history of %d", i, n, changes, history)
		}

		var last state.Event

		for len(ch) > 0 {
			if last = <-ch; last.Type != state.Noop {
				t.Fatalf("watch %d: got event %d of %s, want only progress", i, last.Type, last.Resource.Metadata())
			}
		}

		if err := st.Watch(t.Context(), quiet(i), make(chan state.Event), state.WithStartFromBookmark(last.Bookmark)); err != nil {
			t.Errorf("watch %d: the last bookmark: %v", i, err)
		}
	}
}
