// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// testingT is the part of a test, benchmark or fuzz target that a random history needs.
type testingT interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// change is a change that a watch must deliver.
type change struct {
	typ     state.EventType
	id      string
	version uint64
	value   string
}

type history struct {
	testingT
	st    state.State
	r     *rand.Rand
	model model

	kindCh chan []state.Event
	oneCh  chan state.Event
	due    []change // changes of the kind, not yet seen
	dueOne []change // changes of the watched resource, not yet seen
	last   state.Bookmark
}

const (
	watchedID = "id0"
	randomIDs = 5
)

var randomOwners = []string{"", "me", "other"}

func (h *history) watch() {
	h.Helper()

	h.kindCh = make(chan []state.Event)
	h.oneCh = make(chan state.Event)

	if err := h.st.WatchKindAggregated(h.Context(), kind(), h.kindCh, state.WithBootstrapBookmark()); err != nil {
		h.Fatalf("watch: %v", err)
	}

	for _, ev := range <-h.kindCh {
		h.last = ev.Bookmark
	}

	if err := h.st.Watch(h.Context(), ptr(watchedID), h.oneCh); err != nil {
		h.Fatalf("watch: %v", err)
	}

	<-h.oneCh
}

func (h *history) happened(typ state.EventType, id string, e *entry) {
	c := change{typ, id, e.version, e.value}
	h.due = append(h.due, c)

	if id == watchedID {
		h.dueOne = append(h.dueOne, c)
	}
}

// write applies a change of an existing entry to the model.
func (h *history) write(id string, e *entry) {
	e.version++
	h.happened(state.Updated, id, e)
}

// compare compares the contents with the model, and the events of the watches with the changes.
func (h *history) compare() {
	h.Helper()

	items, err := h.st.List(h.Context(), kind())
	if err != nil {
		h.Fatalf("list: %v", err)
	}

	if len(items) != len(h.model) {
		h.Fatalf("list: got %d items, want %d", len(items), len(h.model))
	}

	for i, id := range slices.Sorted(maps.Keys(h.model)) {
		h.compareOne(items[i], id)

		r, err := h.st.Get(h.Context(), ptr(id))
		if err != nil {
			h.Fatalf("get: %v", err)
		}

		h.compareOne(r, id)
	}

	h.drain()
}

func (h *history) compareOne(r resource.Resource, id string) {
	h.Helper()

	md, e := r.Metadata(), h.model[id]
	value := r.(Item).TypedSpec().Value

	if md.ID() != id || md.Version() != e.version || md.Owner() != e.owner || md.Phase() != e.phase() ||
		!slices.Equal(md.Finalizers(), e.finalizers) || value != e.value {
		h.Fatalf("got %s %s %q %v %q, want %s %+v", md, md.Phase(), md.Owner(), md.Finalizers(), value, id, e)
	}
}

func (h *history) drain() {
	h.Helper()

	// Sometimes the due events are also read from a watch that resumes at the last bookmark.
	if len(h.due) > 0 && h.r.IntN(4) == 0 {
		ctx, cancel := context.WithCancel(h.Context())
		defer cancel()

		ch := make(chan state.Event)
		if err := h.st.WatchKind(ctx, kind(), ch, state.WithKindStartFromBookmark(h.last)); err != nil {
			h.Fatalf("resume: %v", err)
		}

		for _, want := range h.due {
			h.match(receive(h, ch), want)
		}
	}

	for len(h.due) > 0 {
		for _, ev := range receive(h, h.kindCh) {
			h.match(ev, h.due[0])
			h.due, h.last = h.due[1:], ev.Bookmark
		}
	}

	for ; len(h.dueOne) > 0; h.dueOne = h.dueOne[1:] {
		h.match(receive(h, h.oneCh), h.dueOne[0])
	}
}

func (h *history) match(ev state.Event, want change) {
	h.Helper()

	got := change{typ: ev.Type, id: ev.Resource.Metadata().ID(), version: ev.Resource.Metadata().Version()}
	if i, ok := ev.Resource.(Item); ok {
		got.value = i.TypedSpec().Value
	}

	if got != want {
		h.Fatalf("watch: got %+v, want %+v", got, want)
	}
}

func receive[T any](h *history, ch <-chan T) T {
	h.Helper()

	select {
	case x := <-ch:
		return x
	case <-time.After(patience):
		h.Fatalf("watch: no event, %d are due: %+v", len(h.due)+len(h.dueOne), h.due)

		panic("unreachable")
	}
}
