// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"sync/atomic"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Feed is the writing end of a state that follows a store elsewhere. The state is for reading and watching only; what
// is fed has been decided by the other store. Marks are that store's places in its history: they only grow, across all
// kinds, and bookmarks carry them.
type Feed struct {
	state   *State
	base    atomic.Uint64 // where the histories begin
	applied atomic.Uint64
}

// NewFollower returns a state that is fed. The epoch is that of the store, so that bookmarks are good for every
// follower of it; base is the mark that what comes first follows.
func NewFollower(epoch [EpochSize]byte, base uint64, opts ...Option) (*State, *Feed) {
	s := New(opts...)
	s.epoch = epoch
	s.feed = &Feed{state: s}
	s.feed.base.Store(base)
	s.feed.applied.Store(base)

	return s, s.feed
}

// Load puts in a resource that was there at the base. It is not a change.
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

// skipFirst keeps number 1 for what was loaded.
func (k *kind) skipFirst() {
	if k.history.last == 0 {
		k.history.last = 1
		k.begun.Store(1)
		k.seq.Store(1)
	}
}

// Put makes the resource current, created or updated.
func (f *Feed) Put(mark uint64, r resource.Resource) {
	r.Metadata().Seal()

	k := f.state.lockKind(r.Metadata().Kind())

	if c, at := k.index.Load().probe(r.Metadata().ID()); c == nil {
		k.publishMarked(state.Created, nil, at, nil, r, mark)
	} else {
		k.publishMarked(state.Updated, c, at, c.load(), r, mark)
	}

	k.mu.Unlock()
	f.Reached(mark)
}

// Delete destroys the resource, if it is there.
func (f *Feed) Delete(mark uint64, ptr resource.Pointer) {
	if k := f.state.lookup(ptr.Kind()); k != nil {
		k.mu.Lock()

		if c, at := k.index.Load().probe(ptr.ID); c != nil {
			k.publishMarked(state.Destroyed, c, at, c.load(), c.load(), mark)
		}

		k.mu.Unlock()
	}

	f.Reached(mark)
}

// Reached tells that nothing more will come up to the mark.
func (f *Feed) Reached(mark uint64) { f.applied.Store(max(mark, f.applied.Load())) }

// Forget throws all histories out, because what happened up to the mark is not known: bookmarks from before are no
// good, but watches go on with what is fed next.
func (f *Feed) Forget(mark uint64) {
	f.state.mu.Lock()
	kinds := *f.state.kinds.Load()
	f.base.Store(mark)
	f.state.mu.Unlock()

	f.Reached(mark)

	for _, k := range kinds {
		k.mu.Lock()
		// Readers that are behind are owed what is thrown out.
		for seq := k.history.first(); seq <= k.history.last && k.history.count > 0; seq++ {
			k.evict(k.history.at(seq), seq)
		}

		k.history.forget(mark)
		k.mu.Unlock()
	}
}
