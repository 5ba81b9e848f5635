// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

var epoch = [memory.EpochSize]byte{1}

func feedItem(id string) resource.Resource { return resource.New[conformance.ItemSpec]("", id) }

// idsOf reads n events.
func idsOf(t *testing.T, ch <-chan state.Event, n int) (ids []string, marks []state.Bookmark) {
	t.Helper()

	for range n {
		select {
		case ev := <-ch:
			ids = append(ids, ev.Resource.Metadata().ID())
			marks = append(marks, ev.Bookmark)
		case <-time.After(5 * time.Second):
			t.Fatalf("got %q, want %d events", ids, n)
		}
	}

	return ids, marks
}

func resumed(t *testing.T, st state.State, mark state.Bookmark) (<-chan state.Event, error) {
	t.Helper()

	ch := make(chan state.Event, 100)

	return ch, st.WatchKind(t.Context(), itemKind, ch, state.WithKindStartFromBookmark(mark))
}

// TestEqualMarks feeds several changes with one mark, and resumes after each of them.
func TestEqualMarks(t *testing.T) {
	feed := func(f *memory.Feed) {
		f.Put(20, feedItem("a"))
		f.Put(20, feedItem("b"))
		f.Delete(20, feedItem("a").Metadata().Pointer())
		f.Reached(20)
		f.Put(25, feedItem("c"))
		f.Reached(25)
		f.Put(30, feedItem("d"))
		f.Put(30, feedItem("e"))
		f.Reached(30)
	}
	want := []string{"a", "b", "a", "c", "d", "e"}

	for _, history := range []int{memory.DefaultHistory, 4} {
		st, f := memory.NewFollower(epoch, 10, memory.WithHistory(history))
		twin, g := memory.NewFollower(epoch, 12, memory.WithHistory(history))

		ch := make(chan state.Event, 100)
		ok(t, st.WatchKind(t.Context(), itemKind, ch))
		feed(f)
		feed(g)

		ids, marks := idsOf(t, ch, len(want))
		if !slices.Equal(ids, want) {
			t.Fatalf("got %q, want %q", ids, want)
		}

		for name, s := range map[string]state.State{"the same": st, "another": twin} {
			for i, mark := range marks {
				ch, err := resumed(t, s, mark)
				if i+1 < len(want)-history {
					if !state.IsInvalidBookmark(err) {
						t.Errorf("history %d, %s follower, after %d events: got %v, want an expired bookmark", history, name, i+1, err)
					}

					continue
				}

				ok(t, err)

				if ids, _ := idsOf(t, ch, len(want)-i-1); !slices.Equal(ids, want[i+1:]) {
					t.Errorf("history %d, %s follower, after %d events: got %q, want %q", history, name, i+1, ids, want[i+1:])
				}
			}
		}
	}
}

// TestResync reads everything again after a gap: all changes have one mark, in an order that is specific to this follower.
func TestResync(t *testing.T) {
	st, f := memory.NewFollower(epoch, 10)
	twin, g := memory.NewFollower(epoch, 10)

	ch := make(chan state.Event, 100)
	ok(t, st.WatchKind(t.Context(), itemKind, ch))
	f.Put(11, feedItem("a"))
	f.Reached(11)

	_, before := idsOf(t, ch, 1)

	f.Forget(50)

	var boot []state.Bookmark

	for i := range 3 {
		f.Put(50, feedItem(fmt.Sprint(i)))

		// A watch that begins during a resync starts after the changes so far, and its bookmark has that place.
		b := make(chan state.Event, 100)
		ok(t, st.WatchKind(t.Context(), itemKind, b, state.WithBootstrapBookmark()))
		boot = append(boot, (<-b).Bookmark)
	}

	f.Reached(50)
	f.Put(51, feedItem("last"))
	f.Reached(51)

	want := []string{"0", "1", "2", "last"}

	ids, marks := idsOf(t, ch, len(want))
	if !slices.Equal(ids, want) {
		t.Fatalf("got %q, want %q", ids, want)
	}

	for i, mark := range marks {
		ch, err := resumed(t, st, mark)
		ok(t, err)

		if ids, _ := idsOf(t, ch, len(want)-i-1); !slices.Equal(ids, want[i+1:]) {
			t.Errorf("after %d events: got %q, want %q", i+1, ids, want[i+1:])
		}
	}

	for i, mark := range boot {
		ch, err := resumed(t, st, mark)
		ok(t, err)

		if ids, _ := idsOf(t, ch, len(want)-i-1); !slices.Equal(ids, want[i+1:]) {
			t.Errorf("begun after %d events: got %q, want %q", i+1, ids, want[i+1:])
		}
	}

	if _, err := resumed(t, st, before[0]); !state.IsInvalidBookmark(err) {
		t.Errorf("from before the gap: got %v, want an invalid bookmark", err)
	}

	// A follower without a gap had the changes in another order: it must refuse such a bookmark.
	g.Put(40, feedItem("2"))
	g.Put(50, feedItem("0"))
	g.Put(50, feedItem("1"))
	g.Reached(50)

	if _, err := resumed(t, twin, marks[0]); !state.IsInvalidBookmark(err) {
		t.Errorf("with another follower: got %v, want an invalid bookmark", err)
	}
}
