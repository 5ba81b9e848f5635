// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// subscription is one watch. It is in one of three states:
//
//	live     the reader has everything; the writer puts the next event into the channel itself
//	lagging  a goroutine, the pump, feeds the channel from the history after the cursor
//	lost     the same, but the history begins after the cursor; the pump merges the changes in between
//
// All fields belong to the holder of the kind's lock; those above the line do not change.
type subscription struct {
	kind   *kind
	ctx    context.Context // the watch ends with it
	id     string
	single bool // watches one resource: id
	strict bool
	// progress is the option Progress of the watch.
	progress bool
	filter   filter
	one      chan<- state.Event   // one of these two
	many     chan<- []state.Event //
	// ----
	placed   uint64              // number of the event of the reader's last bookmark; kept if progress is set
	contents []resource.Resource // to send before all else, as Created
	first    []state.Event       // to send next
	cursor   uint64              // number of the last event taken; not used while live
	live     bool
	lost     bool
	ended    bool
	unhook   func() bool
}

// start adds the subscription and starts its pump if there are events to send. The lock is held.
func (s *subscription) start() {
	k := s.kind
	k.admit()

	if s.single {
		if k.byID == nil {
			k.byID = map[string][]*subscription{}
		}

		k.byID[s.id] = append(k.byID[s.id], s)
	} else {
		k.subs = append(k.subs, s)
	}

	s.placed = s.cursor

	s.unhook = context.AfterFunc(s.ctx, func() {
		k.mu.Lock()
		defer k.mu.Unlock()

		s.end()
	})

	if len(s.first) == 0 && s.cursor == k.history.last {
		s.follow()

		return
	}

	s.lag(s.cursor)
}

// follow makes the subscription live. The lock is held.
func (s *subscription) follow() {
	s.live = true
	s.kind.placed = min(s.kind.placed, s.placed)
}

// end removes the subscription. The lock is held.
func (s *subscription) end() {
	if s.ended {
		return
	}

	s.ended = true
	s.unhook()

	k := s.kind

	if s.single {
		if k.byID[s.id] = without(k.byID[s.id], s); len(k.byID[s.id]) == 0 {
			delete(k.byID, s.id)
		}
	} else {
		k.subs = without(k.subs, s)
	}

	k.caughtUp(s)
	k.store.dropIfUnused(k)
}

// lag makes the pump responsible for all events after seq. The lock is held.
func (s *subscription) lag(seq uint64) {
	s.live, s.cursor = false, seq
	s.kind.lagging = append(s.kind.lagging, s)

	go s.pump()
}

// tell passes a change to all hooks and live subscriptions. The lock is held.
func (k *kind) tell(e *entry, id string, seq uint64) {
	if len(k.hooks) > 0 {
		ev := e.event(nil)
		for _, h := range k.hooks {
			h.fn(&ev)
		}
	}

	var bookmark state.Bookmark

	for _, subs := range [...][]*subscription{k.subs, k.byID[id]} {
		for _, s := range subs {
			if !s.live {
				continue
			}

			if bookmark == nil {
				bookmark = k.bookmark(seq)
			}

			ev := e.event(bookmark)

			if !s.filter.apply(&ev) {
				if !s.progressDue() {
					continue
				}

				ev = k.markerAt(state.Noop, bookmark)
			}

			switch sent := s.offer(ev); {
			case !sent:
				s.lag(seq - 1)
			case s.progress: // only if needed: for a thousand watchers these are writes to a thousand cache lines
				s.placed = seq
			}
		}
	}

	if len(k.byID) > 0 && k.history.fading(k.placed) {
		k.tellProgress(seq)
	}
}

// tellProgress sends a Noop to the live watches of one resource that did not receive the last change. tell does not visit them:
// a kind may have as many of them as resources. All are sent at once, so the next time is half a history away.
func (k *kind) tellProgress(seq uint64) {
	k.placed = seq
	ev := k.markerAt(state.Noop, k.bookmark(seq))

	for _, subs := range k.byID {
		for _, s := range subs {
			switch {
			case !s.live || !s.progress || s.placed == seq:
			case s.offer(ev):
				s.placed = seq
			default: // the pump sends it if it is still due
				s.lag(seq)
			}
		}
	}
}

// progressDue reports whether the reader's last bookmark will soon be invalid.
func (s *subscription) progressDue() bool { return s.progress && s.kind.history.fading(s.placed) }

// offer sends the event if the channel does not block.
func (s *subscription) offer(ev state.Event) bool {
	if s.one != nil {
		select {
		case s.one <- ev:
			return true
		default:
			return false
		}
	}

	// Each reader gets its own slice.
	select {
	case s.many <- []state.Event{ev}:
		return true
	default:
		return false
	}
}

// pump sends to a reader that is behind until the reader has caught up.
func (s *subscription) pump() {
	for {
		s.kind.mu.Lock()
		batch, last := s.take()
		s.kind.mu.Unlock()

		if len(batch) == 0 || !s.send(batch) || last {
			return
		}
	}
}

func (s *subscription) send(batch []state.Event) bool {
	if s.many != nil {
		select {
		case s.many <- batch:
			return true
		case <-s.ctx.Done():
			return false
		}
	}

	for i := range batch {
		select {
		case s.one <- batch[i]:
		case <-s.ctx.Done():
			return false
		}
	}

	return true
}

// maxBatch is how many events a pump that sends single events takes at a time.
const maxBatch = 64

// take returns the next events, or none if the subscription has ended or is live again. The lock is held.
func (s *subscription) take() (batch []state.Event, last bool) {
	k := s.kind

	if s.ended {
		return nil, true
	}

	limit := maxBatch
	if s.many != nil {
		limit = len(s.contents) + len(s.first) + k.history.count
		batch = make([]state.Event, 0, min(limit, len(s.contents)+len(s.first)+int(k.history.last-s.cursor)))
	}

	for len(batch) < limit && len(s.contents) > 0 {
		batch = append(batch, state.Event{Type: state.Created, Resource: s.contents[0]})
		s.contents = s.contents[1:]
	}

	if len(s.contents) == 0 {
		s.contents = nil
		batch = append(batch, s.first...)
		s.first = nil
	} else {
		return batch, false
	}

	if s.lost {
		if s.strict {
			s.end()

			return append(batch, s.overrun()), true
		}

		if batch = append(batch, k.catchUp(s)...); len(batch) > 0 {
			return batch, false
		}
	}

	for len(batch) < limit && s.cursor < k.history.last {
		s.cursor++

		e := k.history.at(s.cursor)
		if s.single && e.now.Metadata().ID() != s.id {
			continue
		}

		if ev := e.event(nil); s.filter.apply(&ev) {
			ev.Bookmark = k.bookmark(s.cursor)
			batch = append(batch, ev)
			s.placed = s.cursor
		}
	}

	if len(batch) == 0 && s.progressDue() {
		batch = append(batch, k.markerAt(state.Noop, k.bookmark(s.cursor)))
		s.placed = s.cursor
	}

	if len(batch) == 0 {
		s.follow()
		k.caughtUp(s)
	}

	return batch, false
}

func (s *subscription) overrun() state.Event {
	k := s.kind
	ptr := k.name.Pointer("")

	return state.Event{
		Type:     state.Errored,
		Resource: resource.NewTombstone(ptr),
		Error: fmt.Errorf("buffer overrun: namespace %q type %q write pos %d pos %d capacity %d",
			ptr.Namespace, ptr.Type, k.history.last, s.cursor, k.history.limits.entries),
	}
}

func without[T comparable](list []T, x T) []T {
	i := slices.Index(list, x)
	if i < 0 {
		return list
	}

	return slices.Delete(list, i, i+1)
}
