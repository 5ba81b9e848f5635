// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Watch implements state.State.
func (s *State) Watch(ctx context.Context, ptr resource.Pointer, ch chan<- state.Event, opts ...state.WatchOption) error {
	o := state.Apply(opts)

	if err := ctx.Err(); err != nil {
		return err
	}

	if o.TailEvents != 0 && o.StartFromBookmark != nil {
		return state.NewError(state.InvalidArgument, "watch", ptr, "tail events and a bookmark exclude each other")
	}

	k := s.lockKind(ptr.Kind())
	defer k.mu.Unlock()

	sub := &subscription{kind: k, ctx: ctx, id: ptr.ID, single: true, progress: o.Progress, one: ch}

	switch {
	case o.TailEvents > 0:
		sub.cursor = k.tailOf(ptr.ID, o.TailEvents)
	case o.StartFromBookmark != nil:
		seq, err := k.resume(o.StartFromBookmark, ptr)
		if err != nil {
			s.dropIfUnused(k)

			return err
		}

		sub.cursor = seq
	default:
		sub.cursor = k.history.last
		sub.first = []state.Event{k.present(ptr)}
	}

	sub.start()

	return nil
}

// present returns the first event of a watch: the current version, or a tombstone.
func (k *kind) present(ptr resource.Pointer) state.Event {
	if c := k.index.Load().find(ptr.ID); c != nil {
		return state.Event{Type: state.Created, Resource: c.load()}
	}

	return state.Event{Type: state.Destroyed, Resource: resource.NewTombstone(ptr)}
}

// tailOf returns the number after which the last n events of the resource follow, or all its events if there are fewer.
func (k *kind) tailOf(id string, n int) uint64 {
	h := &k.history

	for seq := h.last; seq >= h.first() && seq > 0; seq-- {
		if h.at(seq).now.Metadata().ID() != id {
			continue
		}

		if n--; n == 0 {
			return seq - 1
		}
	}

	return h.first() - 1
}

// WatchKind implements state.State.
func (s *State) WatchKind(ctx context.Context, kind resource.Kind, ch chan<- state.Event, opts ...state.WatchKindOption) error {
	return s.watchKind(ctx, kind, &subscription{one: ch}, opts)
}

// WatchKindAggregated implements state.State.
func (s *State) WatchKindAggregated(ctx context.Context, kind resource.Kind, ch chan<- []state.Event, opts ...state.WatchKindOption) error {
	return s.watchKind(ctx, kind, &subscription{many: ch}, opts)
}

func (s *State) watchKind(ctx context.Context, name resource.Kind, sub *subscription, opts []state.WatchKindOption) error {
	o := state.Apply(opts)

	ptr := name.Pointer("")

	if err := ctx.Err(); err != nil {
		return err
	}

	if err := checkOptions(o, ptr); err != nil {
		return err
	}

	k := s.lockKind(name)
	defer k.mu.Unlock()

	sub.kind, sub.ctx, sub.strict, sub.progress = k, ctx, o.Strict, o.Progress
	sub.filter = filter{labels: o.LabelQueries, id: o.IDQuery}
	sub.cursor = k.history.last

	switch {
	case o.TailEvents > 0:
		sub.cursor = k.history.last - uint64(min(o.TailEvents, k.history.count))
	case o.StartFromBookmark != nil:
		seq, err := k.resume(o.StartFromBookmark, ptr)
		if err != nil {
			s.dropIfUnused(k)

			return err
		}

		sub.cursor = seq
	}

	if o.BootstrapContents {
		for _, c := range k.ordered() {
			if r := c.load(); sub.filter.matches(r) {
				sub.contents = append(sub.contents, r)
			}
		}

		sub.first = append(sub.first, k.marker(state.Bootstrapped))
	}

	if o.BootstrapBookmark {
		sub.first = append(sub.first, k.marker(state.Noop))
	}

	sub.start()

	return nil
}

// marker returns an event about the watch itself: a tombstone without an id.
func (k *kind) marker(typ state.EventType) state.Event { return k.markerAt(typ, k.bookmarkNow()) }

func (k *kind) markerAt(typ state.EventType, bookmark state.Bookmark) state.Event {
	return state.Event{Type: typ, Resource: resource.NewTombstone(k.name.Pointer("")), Bookmark: bookmark}
}

func checkOptions(o state.WatchKindOptions, ptr resource.Pointer) error {
	tail, bookmark := o.TailEvents != 0, o.StartFromBookmark != nil

	switch {
	case tail && bookmark:
		return state.NewError(state.InvalidArgument, "watch", ptr, "tail events and a bookmark exclude each other")
	case o.BootstrapContents && (tail || bookmark):
		return state.NewError(state.InvalidArgument, "watch", ptr, "bootstrap contents exclude tail events and a bookmark")
	default:
		return nil
	}
}

// hook is a callback of Notify.
type hook struct{ fn func(*state.Event) }

// Notify implements state.Notifier.
func (s *State) Notify(ctx context.Context, kind resource.Kind, fn func(*state.Event)) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	k := s.lockKind(kind)
	defer k.mu.Unlock()

	k.admit()

	h := &hook{fn: fn}
	k.hooks = append(k.hooks, h)

	context.AfterFunc(ctx, func() {
		k.mu.Lock()
		defer k.mu.Unlock()

		k.hooks = without(k.hooks, h)
		s.dropIfUnused(k)
	})

	return nil
}
