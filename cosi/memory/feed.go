// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Feed is the writing end of a state that follows another store. The state itself is only for reads and watches; the other
// store has decided the changes that are fed. Marks are the places in the history of that store: they never decrease, across
// all kinds, and are part of bookmarks. Changes with the same mark must come in the same order to every follower, except
// after Forget.
type Feed struct {
	state    *State
	base     atomic.Uint64 // where the histories begin
	resynced atomic.Uint64 // mark of the last Forget
	applied  atomic.Uint64
	nonce    uint32 // identifies this follower
}

// NewFollower returns a state and its feed. The epoch is that of the store, so bookmarks are valid for every follower of the
// store. The first change that is fed comes after the mark base.
func NewFollower(epoch [EpochSize]byte, base uint64, opts ...Option) (*State, *Feed) {
	s := New(opts...)
	s.epoch = epoch
	s.feed = &Feed{state: s, nonce: rand.Uint32()}
	s.feed.base.Store(base)
	s.feed.applied.Store(base)

	return s, s.feed
}

// Load adds a resource that existed at the base. It is not a change.
func (f *Feed) Load(r resource.Resource) {
	r.Metadata().Seal()

	k := f.state.lockKind(r.Metadata().Kind())
	defer k.mu.Unlock()

	c, at := k.index.Load().probe(r.Metadata().ID())
	if c != nil {
		return
	}

	c = &cell{mod: 1} // before every change that will be published
	c.version.Store(r)

	k.skipFirst()
	k.noteCreated(c)
	k.index.Store(k.index.Load().add(at, c))
}

// skipFirst reserves number 1 for loaded resources.
func (k *kind) skipFirst() {
	if k.history.last == 0 {
		k.history.last = 1
		k.begun.Store(1)
		k.seq.Store(1)
	}
}

// Put creates or updates the resource. More changes may follow with the same mark.
func (f *Feed) Put(mark uint64, r resource.Resource) {
	r.Metadata().Seal()

	size, _ := resource.Inspect(r, nil) // the other store has checked it

	k := f.state.lockKind(r.Metadata().Kind())

	if c, at := k.index.Load().probe(r.Metadata().ID()); c == nil {
		k.publishMarked(state.Created, nil, at, nil, r, weightOf(size), mark)
	} else {
		k.publishMarked(state.Updated, c, at, c.load(), r, weightOf(size), mark)
	}

	k.mu.Unlock()
	f.Reached(mark - 1)
}

// Delete destroys the resource, if it exists. More changes may follow with the same mark.
func (f *Feed) Delete(mark uint64, ptr resource.Pointer) {
	if k := f.state.lookup(ptr.Kind()); k != nil {
		k.mu.Lock()

		if c, at := k.index.Load().probe(ptr.ID); c != nil {
			k.publishMarked(state.Destroyed, c, at, c.load(), c.load(), weightOfLast(c.load()), mark)
		}

		k.mu.Unlock()
	}

	f.Reached(mark - 1)
}

// Reached promises that no more changes with this mark or an earlier one will come.
func (f *Feed) Reached(mark uint64) { f.applied.Store(max(mark, f.applied.Load())) }

// Forget discards all histories, because the changes up to the mark are not known. Earlier bookmarks become invalid, but
// watches continue with the next changes. The caller then feeds the differences up to the mark, in any order and with that
// mark, and calls Reached.
func (f *Feed) Forget(mark uint64) {
	f.state.mu.Lock()
	kinds := *f.state.kinds.Load()
	f.base.Store(mark)
	f.resynced.Store(mark)
	f.state.mu.Unlock()

	for _, k := range kinds {
		k.mu.Lock()
		// Readers that are behind still need the discarded entries.
		for seq := k.history.first(); seq <= k.history.last && k.history.count > 0; seq++ {
			k.evict(k.history.at(seq), seq)
		}

		k.history.forget(mark)
		k.mu.Unlock()
	}
}
