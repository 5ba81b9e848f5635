// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

var watchTests = []test{
	{"watch of one resource", func(b *bench) {
		s := b.watch("a")

		first := s.want(state.Destroyed, "a", 0)
		if first.Resource.Metadata().VersionString() != "undefined" {
			b.Errorf("got %s, want an undefined version", first.Resource.Metadata())
		}

		b.create("other")
		b.create("a")
		s.live(state.Created, "a", 1)

		b.set("other", "x")
		b.set("a", "2")

		ev := s.live(state.Updated, "a", 2)
		if now, old := b.item(ev.Resource).TypedSpec().Value, b.item(ev.Old).TypedSpec().Value; now != "2" || old != "of a" {
			b.Errorf("got %q after %q, want 2 after of a", now, old)
		}

		b.ok(b.AddFinalizer(b.ctx, ptr("a"), "f"))
		s.live(state.Updated, "a", 3)

		b.teardown("a")

		ev = s.live(state.Updated, "a", 4)
		if now, old := ev.Resource.Metadata().Phase(), ev.Old.Metadata().Phase(); now != resource.PhaseTearingDown || old != resource.PhaseRunning {
			b.Errorf("got %s after %s", now, old)
		}

		b.ok(b.RemoveFinalizer(b.ctx, ptr("a"), "f"))
		s.live(state.Updated, "a", 5)
		b.ok(b.Destroy(b.ctx, ptr("a")))

		if ev := s.live(state.Destroyed, "a", 5); ev.Resource.Metadata().Phase() != resource.PhaseTearingDown {
			b.Errorf("got %s, want the last version", ev.Resource.Metadata().Phase())
		}

		b.create("a")
		s.live(state.Created, "a", 1)
	}},

	{"watch of an existing resource", func(b *bench) {
		b.create("a")
		b.set("a", "2")

		s := b.watch("a")
		if ev := s.want(state.Created, "a", 2); len(ev.Bookmark) != 0 {
			b.Errorf("%s has a bookmark", describe(ev))
		}

		b.set("a", "3")
		s.live(state.Updated, "a", 3)
	}},

	{"a watch ends with its context", func(b *bench) {
		ctx, cancel := context.WithCancel(b.ctx)
		one, kindCh := make(chan state.Event), make(chan state.Event)

		b.ok(b.Watch(ctx, ptr("a"), one))
		b.ok(b.WatchKind(ctx, kind(), kindCh))
		<-one
		cancel()

		time.Sleep(10 * time.Millisecond)
		b.create("a")

		select {
		case ev := <-one:
			b.Errorf("got %s", describe(ev))
		case ev := <-kindCh:
			b.Errorf("got %s", describe(ev))
		case <-time.After(50 * time.Millisecond):
		}
	}},

	{"a watch does not start with an ended context", func(b *bench) {
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()

		if err := b.Watch(ctx, ptr("a"), make(chan state.Event)); err == nil {
			b.Error("got no error")
		}
	}},

	{"a late reader sees all events", func(b *bench) {
		one, kindWatch := b.watch("a"), b.watchKind()
		b.create("a")

		const updates = 100
		for i := range updates {
			b.set("a", fmt.Sprint(i))
		}

		one.want(state.Destroyed, "a", 0)

		for _, s := range []*stream{one, kindWatch} {
			s.live(state.Created, "a", 1)

			for i := range uint64(updates) {
				s.live(state.Updated, "a", i+2)
			}
		}
	}},
}

var watchKindTests = []test{
	{"watch of a kind", bothWays(func(b *bench, watch func(...state.WatchKindOption) *stream) {
		b.create("before")

		s := watch()
		b.create("a")
		s.live(state.Created, "a", 1)
		b.set("a", "2")
		s.live(state.Updated, "a", 2)
		b.ok(b.Create(b.ctx, NewItem(ns+"-other", "other", "")))
		b.set("before", "2")
		s.live(state.Updated, "before", 2)
		b.ok(b.Destroy(b.ctx, ptr("a")))
		s.live(state.Destroyed, "a", 2)
		b.ok(b.Destroy(b.ctx, resource.PointerOf[ItemSpec](ns+"-other", "other")))
	})},

	{"bootstrap", bothWays(func(b *bench, watch func(...state.WatchKindOption) *stream) {
		const n = 200
		for i := range n {
			b.create(fmt.Sprintf("%03d", n-1-i))
		}

		s := watch(state.WithBootstrapContents())
		b.create("next")
		b.set("000", "2")

		for i := range n {
			if ev := s.want(state.Created, fmt.Sprintf("%03d", i), 1); len(ev.Bookmark) != 0 {
				b.Errorf("%s has a bookmark", describe(ev))
			}
		}

		s.marker(state.Bootstrapped)
		s.live(state.Created, "next", 1)
		s.live(state.Updated, "000", 2)
	})},

	{"bootstrap of an empty kind", bothWays(func(b *bench, watch func(...state.WatchKindOption) *stream) {
		s := watch(state.WithBootstrapContents(), state.WithBootstrapBookmark())
		s.marker(state.Bootstrapped)
		s.marker(state.Noop)
		b.create("a")
		s.live(state.Created, "a", 1)
	})},

	{"bootstrap bookmark", bothWays(func(b *bench, watch func(...state.WatchKindOption) *stream) {
		b.create("a")

		s := watch(state.WithBootstrapBookmark())
		s.marker(state.Noop)
		b.set("a", "2")
		s.live(state.Updated, "a", 2)
	})},

	{"bootstrap and changes at once", bothWays(func(b *bench, watch func(...state.WatchKindOption) *stream) {
		const items, rounds = 20, 10

		for i := range items {
			b.create(fmt.Sprintf("%02d", i))
		}

		done := make(chan struct{})

		go func() {
			defer close(done)

			for range rounds {
				for i := range items {
					_, err := b.UpdateWithConflicts(b.ctx, ptr(fmt.Sprintf("%02d", i)), func(r resource.Resource) error {
						b.item(r).TypedSpec().Value += "+"

						return nil
					})
					if err != nil {
						b.Error(err)
					}
				}
			}
		}()

		s := watch(state.WithBootstrapContents())
		seen := map[string]uint64{}

		for complete := 0; complete < items; {
			ev := s.next()
			md := ev.Resource.Metadata()

			switch ev.Type { // other types are wrong
			case state.Created:
				seen[md.ID()] = md.Version()
			case state.Bootstrapped:
				if len(seen) != items {
					b.Fatalf("bootstrap: got %d, want %d", len(seen), items)
				}

				continue
			case state.Updated:
				if md.Version() != seen[md.ID()]+1 {
					b.Fatalf("%s after version %d", describe(ev), seen[md.ID()])
				}

				seen[md.ID()]++
			default:
				b.Fatalf("got %s", describe(ev))
			}

			if md.Version() == rounds+1 {
				complete++
			}
		}

		<-done
	})},

	{"options that exclude each other", func(b *bench) {
		s := b.watchKind(state.WithBootstrapBookmark())
		mark := s.marker(state.Noop).Bookmark

		for _, opts := range [][]state.WatchKindOption{
			{state.WithBootstrapContents(), state.WithKindTailEvents(1)},
			{state.WithBootstrapContents(), state.WithKindStartFromBookmark(mark)},
			{state.WithKindTailEvents(1), state.WithKindStartFromBookmark(mark)},
		} {
			if err := b.WatchKind(b.ctx, kind(), make(chan state.Event), opts...); err == nil {
				b.Error("watch of a kind: got no error")
			}

			if err := b.WatchKindAggregated(b.ctx, kind(), make(chan []state.Event), opts...); err == nil {
				b.Error("aggregated watch: got no error")
			}
		}

		if err := b.Watch(b.ctx, ptr("a"), make(chan state.Event), state.WithTailEvents(1), state.WithStartFromBookmark(mark)); err == nil {
			b.Error("watch of one: got no error")
		}
	}},
}
