// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// routes passes changes to the inputs of controllers. Each kind has one subscription for all inputs.
type routes struct {
	state  state.State
	log    *slog.Logger
	events chan watched // from watches, if the state cannot notify

	mu    sync.Mutex
	ctx   context.Context // of Run
	kinds map[resource.Kind]*kindRoutes
}

// watched are events of a kind. broken means that the watch was interrupted, so any events may be missing.
type watched struct {
	kind   *kindRoutes
	events []state.Event
	broken bool
}

// kindRoutes are the inputs of one kind. The list is replaced, never changed, because the writer of a resource reads it
// during the write.
type kindRoutes struct {
	kind        resource.Kind
	routes      atomic.Pointer[[]route]
	unsubscribe context.CancelFunc // nil before it is subscribed
	known       known
}

// route is one input of one controller. deliver must not block.
type route struct {
	owner        any
	id           string
	destroyReady bool
	tombstones   bool // receives events for resources that were destroyed while a watch was broken
	deliver      func(ev *state.Event)
}

func (r *routes) init(st state.State, log *slog.Logger) {
	r.state, r.log = st, log
	r.events = make(chan watched, 64)
	r.reset()
}

// reset removes all routes, after the context of their subscriptions has ended.
func (r *routes) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.kinds = map[resource.Kind]*kindRoutes{}
}

func (r *routes) begin(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.ctx = ctx
}

// replace replaces the routes of one owner. It subscribes to kinds that had no routes, and unsubscribes from kinds that have
// no routes any more. After it has returned, no change is missed. If it fails, it has changed nothing.
func (r *routes) replace(owner any, wanted map[resource.Kind][]route) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	before := map[*kindRoutes][]route{}

	for kind := range wanted {
		if r.kinds[kind] == nil {
			r.kinds[kind] = &kindRoutes{kind: kind}
			r.kinds[kind].routes.Store(&[]route{})
		}
	}

	var err error

	for kind, k := range r.kinds {
		old := *k.routes.Load()
		next := slices.DeleteFunc(slices.Clone(old), func(x route) bool { return x.owner == owner })

		if len(next) == len(old) && len(wanted[kind]) == 0 {
			continue
		}

		before[k] = old
		next = append(next, wanted[kind]...)
		k.routes.Store(&next)

		if err = r.subscribe(k, next); err != nil {
			break
		}
	}

	if err != nil {
		for k, old := range before {
			k.routes.Store(&old)
		}
	}

	for kind, k := range r.kinds {
		if len(*k.routes.Load()) > 0 {
			continue
		}

		if k.unsubscribe != nil {
			k.unsubscribe()
		}

		delete(r.kinds, kind)
	}

	return err
}

// subscribe follows a kind if it has routes and is not followed yet.
func (r *routes) subscribe(k *kindRoutes, routes []route) error {
	if len(routes) == 0 {
		return nil
	}

	if k.unsubscribe == nil {
		ctx, cancel := context.WithCancel(r.ctx)
		if err := r.follow(ctx, k); err != nil {
			cancel()

			return err
		}

		k.unsubscribe = cancel
	}

	if !k.known.needed(routes) {
		return nil
	}

	err := r.learnAll(r.ctx, k)
	if err != nil {
		k.known.stop()
	}

	return err
}

// follow delivers the changes of a kind until the context ends.
func (r *routes) follow(ctx context.Context, k *kindRoutes) error {
	if err := state.Notify(ctx, r.state, k.kind, k.deliver); state.ClassOf(err) != state.Unsupported {
		return err
	}

	k.known.possible = true

	ch, err := r.watch(ctx, k.kind)
	if err != nil {
		return err
	}

	go r.forward(ctx, k, ch)

	return nil
}

func (r *routes) watch(ctx context.Context, kind resource.Kind) (chan []state.Event, error) {
	ch := make(chan []state.Event, 1)

	return ch, r.state.WatchKindAggregated(ctx, kind, ch, state.WithBootstrapBookmark())
}

// forward passes on the events of a watch, and starts the watch again when it breaks.
func (r *routes) forward(ctx context.Context, k *kindRoutes, ch chan []state.Event) {
	retry := newBackoff()
	end := func() {} // of the watch that was started last

	defer func() { end() }()

	for {
		w := watched{kind: k}

		select {
		case <-ctx.Done():
			return
		case w.events = <-ch:
		}

		if i := slices.IndexFunc(w.events, func(e state.Event) bool { return e.Type == state.Errored }); i >= 0 {
			r.log.Warn("watch of inputs broke, starting it again", "kind", k.kind.String(), "error", w.events[i].Error)

			end()

			if ch, w.events, end = r.rewatch(ctx, k, retry); ch == nil {
				return
			}

			w.broken = true
		} else {
			retry.reset()
			k.known.follow(w.events)
		}

		select {
		case <-ctx.Done():
			return
		case r.events <- w:
		}
	}
}

// rewatch starts the watch of a kind again. It returns the channel, events for resources that were destroyed since the last
// watch ended, and a function that ends the new watch. The channel is nil if the context has ended.
func (r *routes) rewatch(ctx context.Context, k *kindRoutes, retry *backoff) (chan []state.Event, []state.Event, context.CancelFunc) {
	for sleep(ctx, retry.wait()) {
		attempt, cancel := context.WithCancel(ctx)

		ch, err := r.watch(attempt, k.kind)
		if err == nil {
			var gone []state.Event

			if gone, err = r.lost(attempt, k); err == nil {
				return ch, gone, cancel
			}
		}

		cancel()
		r.log.Warn("watch of inputs cannot be started", "kind", k.kind.String(), "error", err)
	}

	return nil, nil, func() {}
}

// run delivers the events of the watches.
func (r *routes) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case w := <-r.events:
			for i := range w.events {
				w.kind.deliver(&w.events[i])
			}

			if w.broken {
				w.kind.deliver(nil)
			}
		}
	}
}

// deliver passes one change to all matching routes; nil means that anything may have changed.
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
