// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Feed is the writing end of a state that follows a store elsewhere. The state is for reading and watching only; what
// is fed has been decided by the other store. Marks are that store's places in its history: they never shrink, across all
// kinds, and bookmarks carry them. Changes that have one mark must come in the same order to every follower, except after
// Forget.
type Feed struct {
	state    *State
	base     atomic.Uint64 // where the histories begin
	resynced atomic.Uint64 // mark of the last Forget
	applied  atomic.Uint64
	nonce    uint32 // tells this follower from others
}

// NewFollower returns a state that is fed. The epoch is that of the store, so that bookmarks are good for every
// follower of it; base is the mark that what comes first follows.
func NewFollower(epoch [EpochSize]byte, base uint64, opts ...Option) (*State, *Feed) {
	s := New(opts...)
	s.epoch = epoch
	s.feed = &Feed{state: s, nonce: rand.Uint32()}
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

// Put makes the resource current, created or updated. More may come with the same mark.
func (f *Feed) Put(mark uint64, r resource.Resource) {
	r.Metadata().Seal()

	size, _ := resource.Inspect(r, nil) // what is wrong with it is the other store's affair

	k := f.state.lockKind(r.Metadata().Kind())

	if c, at := k.index.Load().probe(r.Metadata().ID()); c == nil {
		k.publishMarked(state.Created, nil, at, nil, r, weightOf(size), mark)
	} else {
		k.publishMarked(state.Updated, c, at, c.load(), r, weightOf(size), mark)
	}

	k.mu.Unlock()
	f.Reached(mark - 1)
}

// Delete destroys the resource, if it is there. More may come with the same mark.
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

// Reached tells that nothing more will come up to the mark, which is included.
func (f *Feed) Reached(mark uint64) { f.applied.Store(max(mark, f.applied.Load())) }

// Forget throws all histories out, because what happened up to the mark is not known: bookmarks from before are no
// good, but watches go on with what is fed next. What is to become true by the mark follows, in any order, with that mark,
// and then Reached.
func (f *Feed) Forget(mark uint64) {
	f.state.mu.Lock()
	kinds := *f.state.kinds.Load()
	f.base.Store(mark)
	f.resynced.Store(mark)
	f.state.mu.Unlock()

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
