// SPDX-License-Identifier: Apache-2.0

// Package introspect shows the counters of controllers as resources, for clients that have only the resource API:
//
//	metrics := introspect.New(rt.Metrics)
//	served := namespaced.New(func(namespace string) state.State {
//		if namespace == introspect.NamespaceName {
//			return metrics
//		}
//		return st
//	})
//
// The counters change all the time, so a change must not wake clients. The counters are read when a client gets or lists
// them, and every few seconds while a client watches them. Package cosiprom serves them to Prometheus.
package introspect

import (
	"context"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/cosi/access"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// Every is how often watches receive changes.
const Every = 5 * time.Second

// owner of the resources.
const owner = "runtime"

// shown is a state that is refreshed when it is read. Writes are refused.
type shown struct {
	state.State // kept, behind serve

	read func() []runtime.Metrics

	mu        sync.Mutex
	kept      *memory.State
	watchers  int
	following bool
}

// New returns a state with a resource for each controller that read returns, such as runtime.Runtime's Metrics.
func New(read func() []runtime.Metrics) state.State {
	s := &shown{read: read, kept: memory.New()}
	s.State = access.Route(s.serve)

	return s
}

func (s *shown) serve(ctx context.Context, a access.Attempt) (state.State, error) {
	switch {
	case a.Verb.Writes():
		return nil, state.NewError(state.Unsupported, a.Verb.String(), a.Pointer, "counters are not written")
	case a.Verb == access.Watch:
		return s.kept, s.watched(ctx)
	default:
		return s.kept, s.refresh()
	}
}

// refresh reads the counters. Unchanged ones are not written.
func (s *shown) refresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()

	ctx := context.Background()

	items, err := s.kept.List(ctx, resource.KindOf[ControllerMetricsSpec](""))
	if err != nil {
		return err
	}

	gone := make(map[string]bool, len(items))
	for _, r := range items {
		gone[r.Metadata().ID()] = true
	}

	for _, m := range s.read() {
		delete(gone, m.Controller)

		if err := typed.Set(ctx, s.kept, "", m.Controller, specOf(m), state.WithOwner(owner)); err != nil {
			return err
		}
	}

	for id := range gone {
		if err := s.kept.Destroy(ctx, resource.PointerOf[ControllerMetricsSpec]("", id), state.WithOwner(owner)); err != nil {
			return err
		}
	}

	return nil
}

// watched refreshes the state until the context ends. All watches share one goroutine.
func (s *shown) watched(ctx context.Context) error {
	if err := s.refresh(); err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.watchers++

	if !s.following {
		s.following = true

		go s.follow()
	}

	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()

		s.watchers--
	})

	return nil
}

// follow refreshes the state while there are watches.
func (s *shown) follow() {
	tick := time.NewTicker(Every)
	defer tick.Stop()

	for range tick.C {
		if s.unwatched() {
			return
		}

		s.refresh() // an error would have come up in the first refresh
	}
}

// unwatched reports whether there are no watches, and records that follow ends then.
func (s *shown) unwatched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.following = s.watchers > 0

	return !s.following
}

// WatchFor implements state.State.
func (s *shown) WatchFor(ctx context.Context, ptr resource.Pointer, conditions ...state.Condition) (resource.Resource, error) {
	return state.WatchUntil(ctx, s, ptr, conditions...)
}
