// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"slices"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// retained is an entry that the history has discarded and that a lost reader still needs: the first change, after its
// cursor, of a resource that it knows. So a reader needs at most one entry for each resource.
type retained struct {
	entry
	seq uint64
}

// neededBy reports whether the entry is the first change, after the cursor, of a resource that existed at the cursor.
func (e *entry) neededBy(cursor, seq uint64) bool {
	return e.old != nil && e.oldMod <= cursor && cursor < seq
}

// evict is called before the history discards an entry. The lock is held.
func (k *kind) evict(e *entry, seq uint64) {
	for i := 0; i < len(k.lagging); {
		s := k.lagging[i]
		if s.cursor >= seq {
			i++

			continue
		}

		s.lost = true
		k.lost = append(k.lost, s)
		k.lagging = slices.Delete(k.lagging, i, i+1)
	}

	for _, s := range k.lost {
		if e.neededBy(s.cursor, seq) {
			k.retained = append(k.retained, retained{entry: *e, seq: seq})

			return
		}
	}
}

// caughtUp discards the entries that were kept for the subscription. The lock is held.
func (k *kind) caughtUp(s *subscription) {
	k.lagging = without(k.lagging, s)

	if !s.lost {
		return
	}

	s.lost = false
	k.lost = without(k.lost, s)

	k.retained = slices.DeleteFunc(k.retained, func(r retained) bool {
		return !slices.ContainsFunc(k.lost, func(s *subscription) bool { return r.neededBy(s.cursor, r.seq) })
	})

	if len(k.retained) == 0 {
		k.retained = nil
	}
}

// catchUp returns the events that bring a lost subscription up to date: one for each resource that differs from the version
// that the reader knows, in the order of their last changes. The lock is held.
func (k *kind) catchUp(s *subscription) []state.Event {
	type change struct {
		state.Event
		mod uint64
	}

	var changes []change

	gone := k.knownAndChanged(s)

	for _, c := range k.cellsOf(s) {
		if c.mod <= s.cursor {
			continue
		}

		now := c.load()
		ev := state.Event{Type: state.Created, Resource: now}

		if old, known := gone[now.Metadata().ID()]; known {
			ev.Type, ev.Old = state.Updated, old
			delete(gone, now.Metadata().ID())
		}

		changes = append(changes, change{ev, c.mod})
	}

	for _, last := range gone {
		changes = append(changes, change{Event: state.Event{Type: state.Destroyed, Resource: last}})
	}

	slices.SortFunc(changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.mod, b.mod), cmp.Compare(a.Resource.Metadata().ID(), b.Resource.Metadata().ID()))
	})

	events := make([]state.Event, 0, len(changes))
	for _, c := range changes {
		if s.filter.apply(&c.Event) {
			// These events are not in the history, so the bookmark is that of the beginning.
			c.Bookmark = k.bookmark(s.cursor)
			events = append(events, c.Event)
		}
	}

	k.caughtUp(s)

	s.cursor = k.history.last
	k.lagging = append(k.lagging, s)

	if len(events) > 0 {
		events[len(events)-1].Bookmark = k.bookmark(s.cursor)
		s.placed = s.cursor
	}

	return events
}

// knownAndChanged returns the reader's versions of resources that have changed since.
func (k *kind) knownAndChanged(s *subscription) map[string]resource.Resource {
	known := map[string]resource.Resource{}

	note := func(e *entry, seq uint64) {
		if id := e.now.Metadata().ID(); e.neededBy(s.cursor, seq) && (!s.single || id == s.id) {
			known[id] = e.old
		}
	}

	for i := range k.retained {
		note(&k.retained[i].entry, k.retained[i].seq)
	}

	for seq := k.history.first(); seq <= k.history.last; seq++ {
		note(k.history.at(seq), seq)
	}

	return known
}

func (k *kind) cellsOf(s *subscription) []*cell {
	if !s.single {
		return k.ordered()
	}

	if c := k.index.Load().find(s.id); c != nil {
		return []*cell{c}
	}

	return nil
}
