// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// known records the resources of a watched kind for the queue controllers that read it. When the watch breaks and cannot
// resume, this record shows what was destroyed in between. It may contain a resource that has been destroyed, which only
// causes one unnecessary reconciliation, but never lacks a resource that a controller has seen.
type known struct {
	possible bool // the kind is watched; a state that can notify misses nothing

	mu    sync.Mutex
	items map[string]controller.Changed // nil while no controller needs it
}

// needed begins the record if one of the routes needs it, and reports whether it has just begun.
func (k *known) needed(routes []route) bool {
	if !k.possible || !slices.ContainsFunc(routes, func(r route) bool { return r.tombstones }) {
		return false
	}

	k.mu.Lock()
	defer k.mu.Unlock()

	if k.items != nil {
		return false
	}

	k.items = map[string]controller.Changed{}

	return true
}

// stop drops the record.
func (k *known) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()

	k.items = nil
}

// learn adds resources to the record.
func (k *known) learn(items []resource.Resource) {
	k.mu.Lock()
	defer k.mu.Unlock()

	if k.items == nil {
		return
	}

	for _, r := range items {
		k.items[r.Metadata().ID()] = controller.ChangedOf(r.Metadata())
	}
}

// follow applies events to the record.
func (k *known) follow(events []state.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()

	if k.items == nil {
		return
	}

	for _, ev := range events {
		switch ev.Type { // other types have no resource
		case state.Created, state.Updated:
			k.items[ev.Resource.Metadata().ID()] = controller.ChangedOf(ev.Resource.Metadata())
		case state.Destroyed:
			delete(k.items, ev.Resource.Metadata().ID())
		}
	}
}

// keep replaces the record by the resources, and returns the other resources that it had, sorted by id.
func (k *known) keep(items []resource.Resource) []controller.Changed {
	k.mu.Lock()
	defer k.mu.Unlock()

	gone := k.items
	k.items = make(map[string]controller.Changed, len(items))

	for _, r := range items {
		k.items[r.Metadata().ID()] = controller.ChangedOf(r.Metadata())
		delete(gone, r.Metadata().ID())
	}

	out := make([]controller.Changed, 0, len(gone))
	for _, id := range slices.Sorted(maps.Keys(gone)) {
		out = append(out, gone[id])
	}

	return out
}

func (k *known) kept() bool {
	k.mu.Lock()
	defer k.mu.Unlock()

	return k.items != nil
}

// learn records the resources that a controller has read.
func (r *routes) learn(kind resource.Kind, items []resource.Resource) {
	r.mu.Lock()
	k := r.kinds[kind]
	r.mu.Unlock()

	if k != nil {
		k.known.learn(items)
	}
}

// learnAll records all resources of a kind.
func (r *routes) learnAll(ctx context.Context, k *kindRoutes) error {
	items, err := r.state.List(ctx, k.kind)
	if err != nil {
		return err
	}

	k.known.learn(items)

	return nil
}

// lost returns events for resources that no longer exist. Their last versions are not known: the events show the labels that
// were last seen, and a resource that is torn down and has no finalizers, as it must have been.
func (r *routes) lost(ctx context.Context, k *kindRoutes) ([]state.Event, error) {
	if !k.known.kept() {
		return nil, nil
	}

	items, err := r.state.List(ctx, k.kind)
	if err != nil {
		return nil, err
	}

	var events []state.Event

	for _, c := range k.known.keep(items) {
		t := resource.NewTombstone(c.Pointer)
		md := t.Metadata().Copy()
		md.SetPhase(resource.PhaseTearingDown)
		md.SetLabels(c.Labels)

		events = append(events, state.Event{Type: state.Destroyed, Resource: t.WithMetadata(md)})
	}

	return events, nil
}
