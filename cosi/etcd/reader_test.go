// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// reader records the events of a watch. A reader that moves ends its watch now and then, and resumes it at the other store.
type reader struct {
	w       *world
	at      int
	every   time.Duration // 0 for a reader that does not move
	resumed int

	told []change
	has  contents
	mark state.Bookmark
	done chan struct{}
}

func (w *world) read(at int, every time.Duration) *reader {
	r := &reader{w: w, at: at, every: every, has: contents{}, done: make(chan struct{})}

	go func() {
		defer close(r.done)

		for !r.watch(w.Context()) {
			r.at = (r.at + 1) % len(w.stores)
		}
	}()

	return r
}

// watch reads until it is time to move, or returns true at the end of the test.
func (r *reader) watch(ctx context.Context) (end bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	var move <-chan time.Time
	if r.every > 0 {
		move = time.After(r.every)
	}

	ch := make(chan state.Event)
	opt := state.WithBootstrapContents()

	if r.mark != nil {
		opt = state.WithKindStartFromBookmark(r.mark)
	}

	err := r.w.stores[r.at].WatchKind(ctx, kind(), ch, opt)

	switch {
	case err == nil && r.mark != nil:
		r.resumed++
	case err != nil:
		if state.IsInvalidBookmark(err) {
			r.mark = nil // it starts again
		}

		time.Sleep(10 * time.Millisecond)

		return ctx.Err() != nil
	}

	there := contents{} // the contents at the start of a watch

	for bootstrapping := r.mark == nil; ; {
		select {
		case <-ctx.Done():
			return true
		case <-move:
			if bootstrapping {
				r.mark = nil
			}

			return false
		case ev := <-ch:
			switch {
			case ev.Type == state.Bootstrapped:
				r.differ(there)

				bootstrapping = false
			case bootstrapping:
				there[ev.Resource.Metadata().ID()] = ev.Resource

				continue
			default:
				r.tell(ev.Type, ev.Resource)
			}

			r.mark = ev.Bookmark

			if ev.Resource.Metadata().ID() == "last" || r.has["last"] != nil {
				return true
			}
		}
	}
}

func (r *reader) tell(typ state.EventType, res resource.Resource) {
	c := change{typ: typ, id: res.Metadata().ID(), resource: res, life: int(r.w.life.Load())}
	if typ == state.Destroyed {
		c.resource = nil
	}

	r.has.apply(c)
	r.told = append(r.told, c)
}

// differ records the differences to the events before.
func (r *reader) differ(there contents) {
	for id, res := range there {
		if r.has[id] == nil {
			r.tell(state.Created, res)
		} else if !(change{resource: res}).same(change{resource: r.has[id]}) {
			r.tell(state.Updated, res)
		}
	}

	for id, res := range r.has {
		if there[id] == nil {
			r.tell(state.Destroyed, res)
		}
	}
}

func (r *reader) finish(t testing.TB) {
	t.Helper()

	select {
	case <-r.done:
	case <-time.After(time.Minute):
		t.Fatalf("a reader at store %d has not received the last event, after %d events", r.at, len(r.told))
	}
}
