// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// kind is all resources of one type in one namespace.
type kind struct {
	store *State
	name  resource.Kind
	hash  uint64

	// Read without the lock, written with it.
	index      atomic.Pointer[index]
	begun      atomic.Uint64 // number of the last event, set before its change can be read
	seq        atomic.Uint64 // the same, set after
	generation atomic.Uint64 // counts creations and destructions
	order      atomic.Pointer[order]

	view       atomic.Pointer[view]
	lastListed atomic.Uint64

	mu      sync.Mutex
	dropped atomic.Bool // written with the lock
	history history
	fresh   []*cell // created since order was made
	stale   int     // destroyed since order was made
	labels  labelIndexes

	subs     []*subscription            // of the whole kind
	byID     map[string][]*subscription // of one resource
	hooks    []*hook
	pending  map[string]*pendingWrite // by id, until the journal has them
	lagging  []*subscription          // those with a pump whose place is still in the history
	lost     []*subscription          // those whose place is not
	retained []retained               // what the lost ones need of what the history has thrown out
}

func newKind(s *State, name resource.Kind) *kind {
	k := &kind{store: s, name: name, hash: kindHash(name), history: history{limit: s.history, few: s.smallHistory, most: s.historyBytes}}
	k.index.Store(emptyIndex)

	if f := s.feed; f != nil {
		k.history.begin(wholly(f.base.Load()))

		if mark := f.resynced.Load(); mark != 0 {
			k.history.forget(mark)
		}
	}

	return k
}

// publish makes a change visible and tells everybody. The lock is held. The cell and its place are what a probe for
// the id returned: for a new resource a nil cell.
func (k *kind) publish(typ state.EventType, c *cell, at place, old, now resource.Resource, w weight) {
	k.publishMarked(typ, c, at, old, now, w, k.seq.Load()+1)
}

func (k *kind) publishMarked(typ state.EventType, c *cell, at place, old, now resource.Resource, w weight, mark uint64) {
	e := entry{typ: typ, now: now, old: old, weight: w, mark: mark}
	id := now.Metadata().ID()
	seq := k.seq.Load() + 1
	live := k.index.Load().live

	for {
		oldest, at := k.history.excess(live, w)
		if oldest == nil {
			break
		}

		k.evict(oldest, at)
		k.history.drop(oldest)
	}

	k.begun.Store(seq)

	was := c

	switch typ { // a change is one of three
	case state.Created:
		c = &cell{mod: seq}
		c.version.Store(now)
		k.noteCreated(c)
		k.index.Store(k.index.Load().add(at, c))
	case state.Updated:
		e.oldMod, c.mod = c.mod, seq
		c = k.replace(c, at, now)
	case state.Destroyed:
		e.oldMod, c.mod = c.mod, 0
		k.index.Load().remove(at)
		k.noteDestroyed()
	}

	if len(k.labels.keys) > 0 {
		if typ == state.Destroyed {
			k.labels.changed(seq, was, old, nil, nil)
		} else {
			k.labels.changed(seq, was, old, c, now)
		}
	}

	k.seq.Store(k.history.add(e, live))
	k.tell(&e, id, seq)

	// It would hold old versions until somebody lists the kind again.
	if k.view.Load() != nil {
		k.view.Store(nil)
	}
}

// weightOfLast is that of the last version of a resource, which its destruction alone refers to in the end.
func weightOfLast(r resource.Resource) weight {
	size, _ := resource.Inspect(r, nil) // it was checked when it was written

	return weightOf(size)
}

// replace stores the next version. An atomic.Value holds one Go type for life; when another one comes (a client
// knows a type that the server does not), the resource moves to a new cell. It returns the cell.
func (k *kind) replace(c *cell, at place, now resource.Resource) *cell {
	if sameType(c.load(), now) {
		c.version.Store(now)

		return c
	}

	moved := &cell{mod: c.mod}
	moved.version.Store(now)
	k.noteCreated(moved)

	c.mod = 0

	k.index.Load().slots[at.slot].Store(moved)

	return moved
}

func sameType(a, b resource.Resource) bool { return reflect.TypeOf(a) == reflect.TypeOf(b) }
