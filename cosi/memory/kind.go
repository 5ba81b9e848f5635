// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// kind holds all resources of one type in one namespace.
type kind struct {
	store *State
	name  resource.Kind
	hash  uint64

	// Read without the lock, written with it.
	index      atomic.Pointer[index]
	begun      atomic.Uint64 // number of the last event, set before its change can be read
	seq        atomic.Uint64 // the same, set after the change
	generation atomic.Uint64 // counts creations and destructions
	order      atomic.Pointer[order]

	view       atomic.Pointer[view]
	lastListed atomic.Uint64

	mu      sync.Mutex
	dropped atomic.Bool // written with the lock
	history history
	fresh   []*cell       // created since order was built
	stale   int           // destroyed since order was built
	labels  *labelIndexes // nil before the first list by label of many resources

	pending map[string]*pendingWrite // by id, until the journal has them
	*readers
}

// readers are those that follow a kind. Most kinds never have any, and share noReaders.
type readers struct {
	subs     []*subscription            // of the whole kind
	byID     map[string][]*subscription // of one resource
	hooks    []*hook
	lagging  []*subscription // have a pump, and their place is still in the history
	lost     []*subscription // have a pump, and their place is not in the history any more
	retained []retained      // discarded entries that the lost ones need
	// placed is at most the number of the last bookmark of each live watch of one resource that gets progress.
	placed uint64
}

var noReaders = &readers{}

// admit is called before the first reader is added. The lock is held.
func (k *kind) admit() {
	if k.readers == noReaders {
		k.readers = &readers{}
	}
}

func newKind(s *State, name resource.Kind) *kind {
	k := &kind{store: s, name: name, hash: kindHash(name), readers: noReaders, history: history{limits: &s.limits}}
	k.index.Store(emptyIndex)

	if f := s.feed; f != nil {
		k.history.begin(wholly(f.base.Load()))

		if mark := f.resynced.Load(); mark != 0 {
			k.history.forget(mark)
		}
	}

	return k
}

// publish makes a change visible and notifies all watches. The lock is held. c and at are the result of a probe for the id:
// c is nil for a new resource.
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

	switch typ { // a change has one of these types
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

	if k.labels != nil && len(k.labels.keys) > 0 {
		if typ == state.Destroyed {
			k.labels.changed(seq, was, old, nil, nil)
		} else {
			k.labels.changed(seq, was, old, c, now)
		}
	}

	k.seq.Store(k.history.add(e, live))
	k.tell(&e, id, seq)

	// It would keep old versions in memory until the kind is listed again.
	if k.view.Load() != nil {
		k.view.Store(nil)
	}
}

// weightOfLast returns the weight of the last version of a resource, which in the end only its destruction refers to.
func weightOfLast(r resource.Resource) weight {
	size, _ := resource.Inspect(r, nil) // it was checked when it was written

	return weightOf(size)
}

// replace stores the next version and returns the cell. An atomic.Value accepts only one Go type. When the type changes (a
// client knows a type that the server does not), the resource moves to a new cell.
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
