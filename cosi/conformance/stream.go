// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"time"

	"github.com/seed-59268b81/talos/cosi/state"
)

// stream reads a watch of any kind one event at a time.
type stream struct {
	b    *bench
	one  chan state.Event
	many chan []state.Event
	rest []state.Event
}

func (b *bench) watch(id string, opts ...state.WatchOption) *stream {
	b.Helper()

	s := &stream{b: b, one: make(chan state.Event)}
	b.ok(b.Watch(b.ctx, ptr(id), s.one, opts...))

	return s
}

func (b *bench) watchKind(opts ...state.WatchKindOption) *stream {
	b.Helper()

	s := &stream{b: b, one: make(chan state.Event)}
	b.ok(b.WatchKind(b.ctx, kind(), s.one, opts...))

	return s
}

func (b *bench) watchAggregated(opts ...state.WatchKindOption) *stream {
	b.Helper()

	s := &stream{b: b, many: make(chan []state.Event)}
	b.ok(b.WatchKindAggregated(b.ctx, kind(), s.many, opts...))

	return s
}

// bothWays runs fn with a watch of a kind that sends single events, and with an aggregated one.
func bothWays(fn func(b *bench, watch func(opts ...state.WatchKindOption) *stream)) func(b *bench) {
	return func(b *bench) {
		for i, name := range []string{"one", "many"} {
			// Both start with no contents: clear runs after each.
			watch := b.watchKind
			if i == 1 {
				watch = b.watchAggregated
			}

			b.Log(name)
			fn(b, watch)
			b.clear()
		}
	}
}

// clear destroys everything.
func (b *bench) clear() {
	b.Helper()

	items, err := b.List(b.ctx, kind())
	b.ok(err)

	for _, r := range items {
		b.ok(b.RemoveFinalizer(b.ctx, r.Metadata().Pointer(), r.Metadata().Finalizers()...))
		b.ok(b.Destroy(b.ctx, r.Metadata().Pointer(), state.WithOwner(r.Metadata().Owner())))
	}
}

func (s *stream) next() state.Event {
	s.b.Helper()

	if len(s.rest) > 0 {
		ev := s.rest[0]
		s.rest = s.rest[1:]

		return ev
	}

	select {
	case ev := <-s.one:
		return ev
	case s.rest = <-s.many:
		if len(s.rest) == 0 {
			s.b.Fatal("an aggregated watch sent no event")
		}

		return s.next()
	case <-time.After(patience):
		s.b.Fatal("no event")

		return state.Event{}
	}
}

// want expects one event and returns it. Only Updated must have an old version.
func (s *stream) want(typ state.EventType, id string, version uint64) state.Event {
	s.b.Helper()

	ev := s.next()
	md := ev.Resource.Metadata()

	if ev.Type != typ || md.ID() != id || md.Version() != version || md.Kind() != kind() {
		s.b.Errorf("got %s, want event %d of %s@%d", describe(ev), typ, id, version)
	}

	if hasOld := ev.Old != nil; hasOld != (typ == state.Updated) {
		s.b.Errorf("%s: has an old version: %t", describe(ev), hasOld)
	}

	return ev
}

func describe(ev state.Event) string {
	s := fmt.Sprintf("event %d of %s", ev.Type, ev.Resource.Metadata())
	if ev.Error != nil {
		s += ": " + ev.Error.Error()
	}

	return s
}

// live expects the event of a new change: with a bookmark, and with the previous version.
func (s *stream) live(typ state.EventType, id string, version uint64) state.Event {
	s.b.Helper()

	ev := s.want(typ, id, version)

	if len(ev.Bookmark) == 0 {
		s.b.Errorf("%s has no bookmark", describe(ev))
	}

	if ev.Old != nil && ev.Old.Metadata().Version() != version-1 {
		s.b.Errorf("%s: old is %s", describe(ev), ev.Old.Metadata())
	}

	return ev
}

// marker expects Bootstrapped or Noop.
func (s *stream) marker(typ state.EventType) state.Event {
	s.b.Helper()

	ev := s.want(typ, "", 0)
	if len(ev.Bookmark) == 0 {
		s.b.Errorf("%s has no bookmark", describe(ev))
	}

	return ev
}
