// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

func ok(t testing.TB, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

func touch(t testing.TB, st state.State, ptr resource.Pointer, label, value string) {
	t.Helper()

	_, err := st.Modify(t.Context(), resource.New[emptySpec](ptr.Namespace, ptr.ID), func(r resource.Resource) error {
		r.Metadata().SetLabel(label, value)

		return nil
	})
	ok(t, err)
}

// replay keeps the resources that a reader of a watch knows, and fails at events that cannot follow.
type replay map[string]resource.Resource

func (p replay) apply(t *testing.T, ev state.Event) {
	t.Helper()

	id := ev.Resource.Metadata().ID()
	known := p[id]

	switch ev.Type { // other types are wrong here
	case state.Created:
		if known != nil {
			t.Fatalf("created %s, but %s exists", ev.Resource.Metadata(), known.Metadata())
		}

		p[id] = ev.Resource
	case state.Updated:
		if known != ev.Old {
			t.Fatalf("updated %s from %v, the reader knew %v", ev.Resource.Metadata(), ev.Old, known)
		}

		p[id] = ev.Resource
	case state.Destroyed:
		if known == nil {
			t.Fatalf("destroyed %s, which did not exist", ev.Resource.Metadata())
		}

		delete(p, id)
	default:
		t.Fatalf("event %d", ev.Type)
	}
}

// TestSlowReaders lets readers of all kinds fall out of a short history at random, and checks that each one has the correct
// resources in the end, by a sequence of valid events.
func TestSlowReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)

		r := rand.New(rand.NewPCG(seed, 0))
		st := memory.New(memory.WithHistory(16))
		kind := pathPtr("").Kind()

		odd := state.WithKindLabelQuery(resource.LabelIs("v", "1"), resource.HasLabel("v"))
		channels := []chan state.Event{make(chan state.Event), make(chan state.Event), make(chan state.Event, 3), make(chan state.Event)}
		known := []replay{{}, {}, {}, {}}

		ok(t, st.WatchKind(t.Context(), kind, channels[0]))
		ok(t, st.WatchKind(t.Context(), kind, channels[1], odd))
		ok(t, st.WatchKind(t.Context(), kind, channels[2], state.WithKindLabelQuery(resource.Not(resource.LabelIs("v", "2")))))
		ok(t, st.Watch(t.Context(), pathPtr("3"), channels[3]))
		<-channels[3]

		for range 400 {
			for range r.IntN(60) {
				p := pathPtr(fmt.Sprint(r.IntN(12)))

				if r.IntN(4) == 0 {
					if err := st.Destroy(t.Context(), p); err != nil && !state.IsNotFound(err) {
						t.Fatal(err)
					}
				} else {
					touch(t, st, p, "v", fmt.Sprint(r.IntN(3)))
				}
			}

			for i, ch := range channels {
				drain(t, ch, known[i], r.IntN(10))
			}
		}

		for i, ch := range channels {
			drain(t, ch, known[i], 1000)
		}

		items, err := st.List(t.Context(), kind)
		ok(t, err)

		want := []map[string]resource.Resource{{}, {}, {}, {}}

		for _, item := range items {
			id := item.Metadata().ID()
			v, _ := item.Metadata().Labels().Get("v")
			want[0][id] = item

			if v == "1" {
				want[1][id] = item
			}

			if v != "2" {
				want[2][id] = item
			}

			if id == "3" {
				want[3][id] = item
			}
		}

		for i := range want {
			if len(want[i]) != len(known[i]) {
				t.Errorf("reader %d knows %d resources, want %d", i, len(known[i]), len(want[i]))
			}

			for id, r := range want[i] {
				if known[i][id] != r {
					t.Errorf("reader %d knows %v, want %v", i, known[i][id], r.Metadata())
				}
			}
		}
	})
}

func drain(t *testing.T, ch <-chan state.Event, into replay, most int) {
	t.Helper()

	for range most {
		synctest.Wait()

		select {
		case ev := <-ch:
			into.apply(t, ev)
		default:
			return
		}
	}
}

func TestStrictReader(t *testing.T) {
	st := memory.New(memory.WithHistory(16))
	one, many := make(chan state.Event), make(chan []state.Event)
	kind := pathPtr("").Kind()

	ok(t, st.WatchKind(t.Context(), kind, one, state.WithStrict()))
	ok(t, st.WatchKindAggregated(t.Context(), kind, many, state.WithStrict()))

	for i := range 500 {
		touch(t, st, pathPtr("a"), "v", fmt.Sprint(i))
	}

	last := func(next func() state.Event) {
		t.Helper()

		for range 500 {
			if ev := next(); ev.Type == state.Errored {
				if !strings.HasPrefix(ev.Error.Error(), "buffer overrun") {
					t.Errorf("got %v", ev.Error)
				}

				return
			}
		}

		t.Error("no Errored event")
	}

	last(func() state.Event { return <-one })

	var rest []state.Event

	last(func() state.Event {
		if len(rest) == 0 {
			rest = <-many
		}

		ev := rest[0]
		rest = rest[1:]

		return ev
	})

	touch(t, st, pathPtr("a"), "v", "after")

	select {
	case ev := <-one:
		t.Errorf("got event %d after the end", ev.Type)
	case <-time.After(10 * time.Millisecond):
	}
}

// TestResumeWithinCatchUp checks that the bookmark of an event that replaces several others is refused, except the last.
func TestResumeWithinCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()

		st := memory.New(memory.WithHistory(8))
		ch := make(chan state.Event)
		ok(t, st.WatchKind(ctx, pathPtr("").Kind(), ch))

		// The first event waits for its reader; all further events are merged.
		touch(t, st, pathPtr("0"), "v", "0")
		synctest.Wait()

		for i := 1; i < 40; i++ {
			touch(t, st, pathPtr(fmt.Sprint(i%10)), "v", fmt.Sprint(i))
		}

		resume := func(b state.Bookmark) error {
			return st.WatchKind(ctx, pathPtr("").Kind(), make(chan state.Event), state.WithKindStartFromBookmark(b))
		}

		for ev := range ch {
			v, _ := ev.Resource.Metadata().Labels().Get("v")

			err := resume(ev.Bookmark)
			if v == "39" {
				ok(t, err)

				return
			}

			if !state.IsInvalidBookmark(err) {
				t.Errorf("%s: resuming got %v, want an invalid bookmark", ev.Resource.Metadata(), err)
			}
		}
	})
}

func TestNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New()
		kind := pathPtr("").Kind()

		ctx, cancel := context.WithCancel(t.Context())
		for range 10 {
			ok(t, st.WatchKind(ctx, kind, make(chan state.Event), state.WithBootstrapContents()))
			ok(t, st.Watch(ctx, pathPtr("a"), make(chan state.Event)))
			ok(t, st.Notify(ctx, kind, func(*state.Event) {}))
		}

		synctest.Wait()
		cancel()
		synctest.Wait()

		touch(t, st, pathPtr("a"), "v", "not watched")
		// The bubble does not end while one of its goroutines is left.
	})
}

// TestMemoryOfSlowReaders checks that the store does not grow with writes because of watches that are never read.
func TestMemoryOfSlowReaders(t *testing.T) {
	st := memory.New()

	for range 10 {
		ok(t, st.WatchKind(t.Context(), pathPtr("").Kind(), make(chan state.Event)))
	}

	heap := func() uint64 {
		var m runtime.MemStats

		runtime.GC()
		runtime.ReadMemStats(&m)

		return m.HeapAlloc
	}

	var first uint64

	for round := range 5 {
		for i := range 20_000 {
			touch(t, st, pathPtr(fmt.Sprint(i%100)), "v", fmt.Sprint(round, i))
		}

		if round == 0 {
			first = heap()
		}
	}

	if last := heap(); last > first+first/2+1<<20 {
		t.Errorf("heap grew from %d to %d bytes", first, last)
	}
}

func TestNotify(t *testing.T) {
	st := memory.New()
	ctx, cancel := context.WithCancel(t.Context())

	var got []string

	ok(t, st.Notify(ctx, pathPtr("").Kind(), func(ev *state.Event) {
		r, err := st.Get(t.Context(), ev.Resource.Metadata().Pointer())
		readable := err == nil && r == ev.Resource || state.IsNotFound(err) && ev.Type == state.Destroyed
		got = append(got, fmt.Sprint(ev.Type, ev.Resource.Metadata().Version(), ev.Old != nil, readable))
	}))

	touch(t, st, pathPtr("a"), "v", "1")
	touch(t, st, pathPtr("a"), "v", "2")
	ok(t, st.Destroy(t.Context(), pathPtr("a")))
	cancel()

	for range 100 { // the goroutines end some time later
		time.Sleep(time.Millisecond)
	}

	touch(t, st, pathPtr("a"), "v", "3")

	want := "[created 1 false true updated 2 true true destroyed 2 false true]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
