// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"slices"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// resume prepares the request for the next connection: from the bookmark on, or from the beginning if there is none.
func (w *watch) resume() {
	if w.bookmark != nil {
		o := w.req.GetOptions()
		w.req.Options = &v1alpha1.WatchOptions{
			StartFromBookmark: w.bookmark, LabelQuery: o.GetLabelQuery(), IdQuery: o.GetIdQuery(), Aggregated: o.GetAggregated(),
		}
		w.tracking, w.sent, w.again = false, nil, nil

		return
	}

	w.again = map[string]bool{}
}

// beginAgain prepares a request without the bookmark, which the server has refused. It returns false if the version that the
// reader has is not known.
func (w *watch) beginAgain() bool {
	if !w.known || w.bookmark == nil {
		return false
	}

	w.bookmark = nil
	w.req.Options = &v1alpha1.WatchOptions{}
	w.tracking, w.sent = true, map[string]resource.Resource{w.ptr.ID: w.last}

	return true
}

// keep adds the events to send for an event that came.
func (w *watch) keep(out []state.Event, ev state.Event) []state.Event {
	if ev.Type == state.Noop && !w.takeNoop() {
		return out
	}

	if !w.tracking {
		return append(out, w.note(ev))
	}

	id := ev.Resource.Metadata().ID()

	// From this bookmark on the watch can resume: the record of sent resources is no longer needed.
	if ev.Bookmark != nil {
		out = append(append(out, w.missing()...), w.note(ev))
		w.tracking, w.sent, w.again = false, nil, nil

		return out
	}

	events := []state.Event{ev}

	if old, known := w.sent[id]; w.again != nil && !w.again[id] {
		w.again[id] = true

		if known {
			events = difference(old, ev)
		}
	}

	for _, ev := range events {
		switch ev.Type { // other types have no resource
		case state.Created, state.Updated:
			w.remember(id, ev.Resource)
		case state.Destroyed:
			w.remember(id, nil)
		}

		out = append(out, w.note(ev))
	}

	return out
}

// takeNoop reports whether the reader gets this Noop event.
func (w *watch) takeNoop() bool {
	show := w.showNoop || w.showProgress
	w.showNoop = false

	return show
}

// note records the version that the reader of one resource has.
func (w *watch) note(ev state.Event) state.Event {
	if !w.single {
		return ev
	}

	switch ev.Type { // other types have no resource
	case state.Created, state.Updated:
		w.known, w.last = true, ev.Resource
	case state.Destroyed:
		w.known, w.last = true, nil
	}

	return ev
}

// remember records the version of a resource that was sent; nil if it does not exist.
func (w *watch) remember(id string, r resource.Resource) {
	if w.sent == nil {
		w.sent = map[string]resource.Resource{}
	}

	w.sent[id] = r
}

// difference turns the first event about a resource, after the watch began again, into the events for a reader that has old.
func difference(old resource.Resource, ev state.Event) []state.Event {
	there := ev.Type != state.Destroyed

	switch {
	case old == nil && !there:
		return nil
	case old == nil:
	case !there:
		ev.Resource = old
	case !old.Metadata().Created().Equal(ev.Resource.Metadata().Created()):
		// It is another resource with the same address.
		return []state.Event{{Type: state.Destroyed, Resource: old}, ev}
	case resource.Equal(old, ev.Resource):
		return nil
	default:
		ev.Type, ev.Old = state.Updated, old
	}

	return []state.Event{ev}
}

// missing returns Destroyed events for the resources that were sent before the watch began again and no longer exist.
func (w *watch) missing() []state.Event {
	if w.again == nil || w.single {
		return nil
	}

	var out []state.Event

	for id, r := range w.sent {
		if r != nil && !w.again[id] {
			out = append(out, state.Event{Type: state.Destroyed, Resource: r})
		}
	}

	slices.SortFunc(out, func(a, b state.Event) int {
		return cmp.Compare(a.Resource.Metadata().ID(), b.Resource.Metadata().ID())
	})

	return out
}
