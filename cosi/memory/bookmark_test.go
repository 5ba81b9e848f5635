// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"testing"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/state"
)

// FuzzBookmark resumes at arbitrary bytes: an error of the right class, or the events after a place in the history.
func FuzzBookmark(f *testing.F) {
	st := memory.New(memory.WithHistory(4))
	ch := make(chan state.Event, 10)

	if err := st.WatchKind(f.Context(), pathPtr("").Kind(), ch); err != nil {
		f.Fatal(err)
	}

	for i := range 8 {
		touch(f, st, pathPtr("a"), "v", string(rune('0'+i)))
		f.Add([]byte((<-ch).Bookmark))
	}

	f.Add([]byte{})

	f.Fuzz(func(t *testing.T, b []byte) {
		one, kind := make(chan state.Event, 10), make(chan state.Event, 10)

		for _, err := range []error{
			st.Watch(t.Context(), pathPtr("a"), one, state.WithStartFromBookmark(b)),
			st.WatchKind(t.Context(), pathPtr("").Kind(), kind, state.WithKindStartFromBookmark(b)),
		} {
			if b != nil && err != nil && !state.IsInvalidBookmark(err) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// FuzzFollowerBookmark does the same with a follower that has several changes with one mark, some of them from a resync.
func FuzzFollowerBookmark(f *testing.F) {
	st, feed := memory.NewFollower(epoch, 10, memory.WithHistory(6))
	ch := make(chan state.Event, 20)

	if err := st.WatchKind(f.Context(), itemKind, ch); err != nil {
		f.Fatal(err)
	}

	feed.Put(11, feedItem("a"))
	feed.Forget(20)

	for i := range 8 {
		feed.Put(uint64(20+i/3), feedItem(string(rune('a'+i))))
	}

	for range 9 {
		f.Add([]byte((<-ch).Bookmark))
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		again := make(chan []state.Event, 1)

		if err := st.WatchKindAggregated(t.Context(), itemKind, again, state.WithKindStartFromBookmark(b)); b != nil && err != nil && !state.IsInvalidBookmark(err) {
			t.Errorf("got %v", err)
		}
	})
}
