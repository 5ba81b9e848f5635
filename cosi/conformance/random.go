// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// testingT is what a random history needs of a test, benchmark or fuzz target.
type testingT interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// change is what a watch must see.
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
	due    []change // of the kind, not yet seen
	dueOne []change // of the watched one
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

// write is what any change of an existing entry does to the model.
func (h *history) write(id string, e *entry) {
	e.version++
	h.happened(state.Updated, id, e)
}

// step does one operation on both and compares the outcomes.
func (h *history) step() {
	h.Helper()

	ctx := h.Context()
	id := fmt.Sprintf("id%d", h.r.IntN(randomIDs))
	owner := randomOwners[h.r.IntN(len(randomOwners))]
	value := fmt.Sprint(h.r.IntN(4))
	finalizer := string(rune('x' + h.r.IntN(2)))
	e := h.model[id]

	if e != nil && h.r.IntN(3) > 0 {
		owner = e.owner
	}

	as := state.WithOwner(owner)

	check := func(op string, err error, want bool) {
		h.Helper()

		if (err == nil) != want {
			h.Fatalf("%s of %s as %q: got %v, want success %t of %+v", op, id, owner, err, want, e)
		}
	}

	switch h.r.IntN(7) {
	case 0:
		err := h.st.Create(ctx, NewItem(ns, id, value), as)
		check("create", err, e == nil)

		if e == nil {
			h.model[id] = &entry{version: 1, value: value, owner: owner}
			h.happened(state.Created, id, h.model[id])
		}
	case 1:
		r := NewItem(ns, id, value)
		r.Metadata().SetVersion(1)

		if e != nil {
			r.Metadata().SetVersion(e.version - uint64(h.r.IntN(2)))

			for _, f := range e.finalizers {
				r.Metadata().AddFinalizer(f)
			}

			r.Metadata().SetPhase(e.phase())
		}

		can := e != nil && e.owner == owner && r.Metadata().Version() == e.version && !e.tearing
		check("update", h.st.Update(ctx, r, as), can)

		if can {
			e.value = value
			h.write(id, e)
		}
	case 2:
		_, err := h.st.Modify(ctx, NewItem(ns, id, ""), func(r resource.Resource) error {
			r.(Item).TypedSpec().Value = value

			return nil
		}, as)

		switch {
		case e == nil:
			check("modify", err, true)
			h.model[id] = &entry{version: 1, value: value, owner: owner}
			h.happened(state.Created, id, h.model[id])
		case e.owner == owner && !e.tearing:
			check("modify", err, true)

			if e.value != value {
				e.value = value
				h.write(id, e)
			}
		default:
			check("modify", err, false)
		}
	case 3:
		can := e != nil && e.owner == owner && len(e.finalizers) == 0
		check("destroy", h.st.Destroy(ctx, ptr(id), as), can)

		if can {
			delete(h.model, id)
			h.happened(state.Destroyed, id, e)
		}
	case 4:
		ready, err := h.st.Teardown(ctx, ptr(id), as)
		check("teardown", err, e != nil && e.owner == owner)

		if err == nil {
			if !e.tearing {
				e.tearing = true
				h.write(id, e)
			}

			if ready != (len(e.finalizers) == 0) {
				h.Fatalf("teardown of %s: got ready %t with %v", id, ready, e.finalizers)
			}
		}
	case 5:
		check("add finalizer", h.st.AddFinalizer(ctx, ptr(id), finalizer), e != nil)

		if e != nil && !slices.Contains(e.finalizers, finalizer) {
			e.finalizers = append(e.finalizers, finalizer)
			h.write(id, e)
		}
	case 6:
		check("remove finalizer", h.st.RemoveFinalizer(ctx, ptr(id), finalizer), e != nil)

		if e != nil && slices.Contains(e.finalizers, finalizer) {
			e.finalizers = slices.DeleteFunc(e.finalizers, func(f string) bool { return f == finalizer })
			h.write(id, e)
		}
	}
}

// compare compares the contents with the model's, and the watches with what happened.
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

	// Sometimes what is due is read through a watch resumed at the last bookmark, as well.
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
		h.Fatalf("watch: no event came, %d are due: %+v", len(h.due)+len(h.dueOne), h.due)

		panic("unreachable")
	}
}
