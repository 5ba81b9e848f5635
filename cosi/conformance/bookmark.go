// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"slices"
	"strconv"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// happen makes seven changes; four of them are changes of a.
func (b *bench) happen() {
	b.Helper()
	b.create("a")
	b.create("b")
	b.set("a", "2")
	b.set("b", "2")
	b.ok(b.AddFinalizer(b.ctx, ptr("a"), "f"))
	b.ok(b.Destroy(b.ctx, ptr("b")))
	b.ok(b.RemoveFinalizer(b.ctx, ptr("a"), "f"))
}

const happenings = 7

func sameEvent(a, b state.Event) bool {
	return a.Type == b.Type && resource.Equal(a.Resource, b.Resource) && slices.Equal(a.Bookmark, b.Bookmark) &&
		(a.Old == nil) == (b.Old == nil) && (a.Old == nil || resource.Equal(a.Old, b.Old))
}

// wantAll expects exactly these events.
func (s *stream) wantAll(what string, want []state.Event) {
	s.b.Helper()

	for i, w := range want {
		if got := s.next(); !sameEvent(got, w) {
			s.b.Errorf("%s, event %d: got %s, want %s", what, i, describe(got), describe(w))
		}
	}
}

var bookmarkTests = []test{
	{"bookmarks of a kind", bothWays(func(b *bench, watch func(...state.WatchKindOption) *stream) {
		s := watch(state.WithBootstrapContents(), state.WithBootstrapBookmark())
		marks := []state.Bookmark{s.marker(state.Bootstrapped).Bookmark}

		if noop := s.marker(state.Noop).Bookmark; !slices.Equal(noop, marks[0]) {
			b.Error("Bootstrapped and Noop of an idle kind differ in their bookmarks")
		}

		b.happen()

		var events []state.Event

		for range happenings {
			ev := s.next()
			events = append(events, ev)
			marks = append(marks, ev.Bookmark)
		}

		for i, mark := range marks {
			again := watch(state.WithKindStartFromBookmark(mark))
			again.wantAll("resumed", events[i:])

			// The resumed watch also sees new changes.
			if i == 0 || i == len(marks)-1 {
				b.create("next")
				again.live(state.Created, "next", 1)
				b.ok(b.Destroy(b.ctx, ptr("next")))
				events = append(events, s.next(), s.next())
			}
		}
	})},

	{"bookmarks of one", func(b *bench) {
		s := b.watch("a")
		s.want(state.Destroyed, "a", 0)
		b.happen()

		events := []state.Event{s.next(), s.next(), s.next(), s.next()}

		for i, ev := range events {
			again := b.watch("a", state.WithStartFromBookmark(ev.Bookmark))
			again.wantAll("resumed", events[i+1:])
			b.set("a", string(rune('A'+i)))

			next := s.next()
			events = append(events, next)
			again.wantAll("then", []state.Event{next})
		}
	}},

	{"progress of one", func(b *bench) {
		b.create("b")

		s := &stream{b: b, one: make(chan state.Event, 1000)}
		b.ok(b.Watch(b.ctx, ptr("a"), s.one, state.WithWatchProgress()))
		s.want(state.Destroyed, "a", 0)

		// Only b changes.
		for i, end := 0, time.Now().Add(patience); len(s.one) == 0 && time.Now().Before(end); i++ {
			b.set("b", strconv.Itoa(i))
		}

		// If the reader was behind, the first bookmarks may be too old. A valid one follows.
		again := &stream{b: b, one: make(chan state.Event)}

		var err error

		for wait := true; wait; wait = state.IsInvalidBookmark(err) {
			err = b.Watch(b.ctx, ptr("a"), again.one, state.WithStartFromBookmark(s.marker(state.Noop).Bookmark))
		}

		b.ok(err)
		b.create("a")
		again.live(state.Created, "a", 1)
	}},

	{"invalid bookmarks", func(b *bench) {
		s := b.watchKind()
		b.create("a")
		good := s.next().Bookmark

		foreign := slices.Clone(good)
		foreign[0] ^= 1

		future := slices.Clone(good)
		future[len(future)-1]++

		far := slices.Clone(good)
		far[len(far)-8] ^= 0x80

		for what, mark := range map[string]state.Bookmark{
			"short": good[:len(good)-1], "long": append(slices.Clone(good), 0), "empty": {}, "foreign": foreign, "future": future, "far": far,
		} {
			b.wantClass(what+", kind", b.WatchKind(b.ctx, kind(), make(chan state.Event), state.WithKindStartFromBookmark(mark)), state.InvalidBookmark)
			b.wantClass(what+", aggregated", b.WatchKindAggregated(b.ctx, kind(), make(chan []state.Event), state.WithKindStartFromBookmark(mark)), state.InvalidBookmark)
			b.wantClass(what+", one", b.Watch(b.ctx, ptr("a"), make(chan state.Event), state.WithStartFromBookmark(mark)), state.InvalidBookmark)
		}

		other := resource.KindOf[ItemSpec](ns + "-other")
		b.ok(b.Create(b.ctx, NewItem(ns+"-other", "a", "")))
		b.wantClass("other kind", b.WatchKind(b.ctx, other, make(chan state.Event), state.WithKindStartFromBookmark(good)), state.InvalidBookmark)
	}},
}

var tailTests = []test{
	{"tail of a kind", bothWays(func(b *bench, watch func(...state.WatchKindOption) *stream) {
		s := watch()
		b.happen()

		var events []state.Event
		for range happenings {
			events = append(events, s.next())
		}

		for _, n := range []int{1, 3, happenings} {
			watch(state.WithKindTailEvents(n)).wantAll("tail", events[happenings-n:])
		}

		// A tail longer than the history is the whole history.
		all := watch(state.WithKindTailEvents(10_000))
		for first := all.next(); !sameEvent(first, events[0]); first = all.next() {
		}

		all.wantAll("tail of all", events[1:])
		b.create("next")
		all.live(state.Created, "next", 1)
	})},

	{"tail of one", func(b *bench) {
		s := b.watch("a")
		s.want(state.Destroyed, "a", 0)
		b.happen()

		events := []state.Event{s.next(), s.next(), s.next(), s.next()}

		for _, n := range []int{1, 2, 4, 1000} {
			again := b.watch("a", state.WithTailEvents(n))
			again.wantAll("tail", events[max(0, 4-n):4])
		}

		again := b.watch("none", state.WithTailEvents(5))
		b.create("none")
		again.live(state.Created, "none", 1)
	}},
}
