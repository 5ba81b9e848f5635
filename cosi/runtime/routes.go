// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// routes leads changes to those who asked for them: one subscription a kind, however many inputs.
type routes struct {
	state  state.State
	log    *slog.Logger
	events chan watched // from watches, where the state can not notify

	mu    sync.Mutex
	ctx   context.Context //nolint:containedctx // of the run
	kinds map[resource.Kind]*kindRoutes
}

// watched are events of a kind, or the end of its watch.
type watched struct {
	kind   *kindRoutes
	events []state.Event
}

// kindRoutes are the inputs of one kind. The list is replaced, never changed, because the writer of the resource
// reads it in the midst of its write.
type kindRoutes struct {
	kind       resource.Kind
	routes     atomic.Pointer[[]route]
	subscribed bool
}

// route is one input of one controller. deliver must not block.
type route struct {
	owner        any
	id           string
	destroyReady bool
	deliver      func(ev *state.Event)
}

func (r *routes) init(st state.State, log *slog.Logger) {
	r.state, r.log = st, log
	r.kinds = map[resource.Kind]*kindRoutes{}
	r.events = make(chan watched, 64)
}

func (r *routes) begin(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.ctx = ctx
}

// replace sets the routes of one owner, in place of those it had, and subscribes where need be. When it returns, no
// later change is missed.
func (r *routes) replace(owner any, wanted map[resource.Kind][]route) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	for kind := range wanted {
		if r.kinds[kind] == nil {
			r.kinds[kind] = &kindRoutes{kind: kind}
			r.kinds[kind].routes.Store(&[]route{})
		}
	}

	for kind, k := range r.kinds {
		old := *k.routes.Load()
		next := slices.DeleteFunc(slices.Clone(old), func(x route) bool { return x.owner == owner })

		if len(next) == len(old) && len(wanted[kind]) == 0 {
			continue
		}

		next = append(next, wanted[kind]...)
		k.routes.Store(&next)

		if !k.subscribed && len(next) > 0 {
			if err := r.subscribe(k); err != nil {
				return err
			}

			k.subscribed = true
		}
	}

	return nil
}

func (r *routes) subscribe(k *kindRoutes) error {
	if n, ok := r.state.(state.Notifier); ok {
		if err := n.Notify(r.ctx, k.kind, k.deliver); state.ClassOf(err) != state.Unsupported {
			return err
		}
	}

	ch := make(chan []state.Event, 1)
	if err := r.state.WatchKindAggregated(r.ctx, k.kind, ch, state.WithBootstrapBookmark()); err != nil {
		return err
	}

	go r.follow(r.ctx, k, ch)

	return nil
}

// follow passes the events of a watch on, and makes the watch anew when it breaks.
func (r *routes) follow(ctx context.Context, k *kindRoutes, ch chan []state.Event) {
	retry := newBackoff()

	for {
		var events []state.Event

		select {
		case <-ctx.Done():
			return
		case events = <-ch:
		}

		if i := slices.IndexFunc(events, func(e state.Event) bool { return e.Type == state.Errored }); i >= 0 {
			r.log.Warn("watch of inputs broke, starting it again", "kind", k.kind.String(), "error", events[i].Error)

			if ch = r.rewatch(ctx, k, retry); ch == nil {
				return
			}

			events = nil
		} else {
			retry.reset()
		}

		select {
		case <-ctx.Done():
			return
		case r.events <- watched{k, events}:
		}
	}
}

func (r *routes) rewatch(ctx context.Context, k *kindRoutes, retry *backoff) chan []state.Event {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retry.next()):
		}

		ch := make(chan []state.Event, 1)

		err := r.state.WatchKindAggregated(ctx, k.kind, ch, state.WithBootstrapBookmark())
		if err == nil {
			return ch
		}

		r.log.Warn("watch of inputs does not start", "kind", k.kind.String(), "error", err)
	}
}

// run hands on what the watches saw.
func (r *routes) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case w := <-r.events:
			if w.events == nil {
				w.kind.deliver(nil)
			}

			for i := range w.events {
				w.kind.deliver(&w.events[i])
			}
		}
	}
}

// deliver leads one change to everyone it concerns; nil means that anything may have changed.
func (k *kindRoutes) deliver(ev *state.Event) {
	if ev == nil {
		for _, r := range *k.routes.Load() {
			r.deliver(nil)
		}

		return
	}

	if ev.Type > state.Destroyed {
		return
	}

	md := ev.Resource.Metadata()
	destroyReady := md.Phase() == resource.PhaseTearingDown && len(md.Finalizers()) == 0

	for _, r := range *k.routes.Load() {
		if (r.id == "" || r.id == md.ID()) && (!r.destroyReady || destroyReady) {
			r.deliver(ev)
		}
	}
}

func kindOf(in controller.Input) resource.Kind {
	return resource.Kind{Namespace: in.Namespace, Type: in.Type}
}
