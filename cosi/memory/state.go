// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"crypto/rand"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// What is kept of the events of a kind, at most, for tails, bookmarks and readers that fall behind.
const (
	// DefaultHistory is how many; of a kind of few resources a quarter, and one for each resource.
	DefaultHistory = 1024
	// DefaultHistoryBytes is what their versions take, though a few are kept whatever they take.
	DefaultHistoryBytes = 4 << 20
)

// State is a state in memory. All namespaces live in it.
type State struct {
	epoch        [epochSize]byte
	history      int
	smallHistory int // of a kind without resources
	historyBytes int
	journal      *journal // nil: nothing is kept
	feed         *Feed    // nil: it does not follow another store
	clock        clock

	kinds  atomic.Pointer[map[resource.Kind]*kind] // replaced, never changed
	mu     sync.Mutex                              // of replacing kinds
	recent [64]atomic.Pointer[kind]                // see lookup
}

var (
	_ state.State    = (*State)(nil)
	_ state.Notifier = (*State)(nil)
)

// Option of New.
type Option func(*State)

// WithHistory sets how many events of a kind are kept at most, at least one, of a kind of few resources as well. History is
// allocated as it comes.
func WithHistory(events int) Option {
	return func(s *State) { s.history, s.smallHistory = max(events, 1), max(events, 1) }
}

// WithHistoryBytes sets how much memory the old versions of a kind take at most, though a few are kept whatever they take.
func WithHistoryBytes(n int) Option { return func(s *State) { s.historyBytes = n } }

// New returns an empty state.
func New(opts ...Option) *State {
	s := &State{history: DefaultHistory, smallHistory: smallHistory, historyBytes: DefaultHistoryBytes}

	rand.Read(s.epoch[:]) // it does not fail

	for _, opt := range opts {
		opt(s)
	}

	s.kinds.Store(&map[resource.Kind]*kind{})

	return s
}

// lookup returns the kind, nil if nothing was ever stored in it or watches it.
// Before the map it tries a kind that was found with a like name: comparing the names
// is several times cheaper than hashing them, and it was half of a Get.
func (s *State) lookup(k resource.Kind) *kind {
	slot := &s.recent[slotOf(k)]

	seen := slot.Load()
	if seen != nil && seen.name == k && !seen.dropped.Load() {
		return seen
	}

	found := (*s.kinds.Load())[k]

	// Not in turns with another one: processors would fight over the slot.
	if found != nil && (seen == nil || seen.dropped.Load()) {
		slot.Store(found)
	}

	return found
}

func slotOf(k resource.Kind) uint8 {
	n := len(k.Type)
	if n == 0 {
		return 0
	}

	return (uint8(n) + k.Type[0]*3 + k.Type[n/3]*5 + uint8(len(k.Namespace))*7) % 64
}

// lockKind returns the kind locked, made if need be.
func (s *State) lockKind(k resource.Kind) *kind {
	for {
		found := s.lookup(k)
		if found == nil {
			found = s.addKind(k)
		}

		found.mu.Lock()

		if !found.dropped.Load() {
			return found
		}

		found.mu.Unlock()
	}
}

func (s *State) addKind(k resource.Kind) *kind {
	s.mu.Lock()
	defer s.mu.Unlock()

	if found := s.lookup(k); found != nil {
		return found
	}

	next := maps.Clone(*s.kinds.Load())
	added := newKind(s, k)
	next[k] = added
	s.kinds.Store(&next)

	return added
}

// dropIfUnused forgets a kind that was only ever watched. Its lock is held.
func (s *State) dropIfUnused(k *kind) {
	if k.seq.Load() > 0 || len(k.subs)+len(k.byID)+len(k.hooks)+len(k.pending) > 0 {
		return
	}

	k.dropped.Store(true)

	s.mu.Lock()
	defer s.mu.Unlock()

	next := maps.Clone(*s.kinds.Load())
	delete(next, k.name)
	s.kinds.Store(&next)
}

// Get implements state.State.
func (s *State) Get(_ context.Context, ptr resource.Pointer, _ ...state.GetOption) (resource.Resource, error) {
	if k := s.lookup(ptr.Kind()); k != nil {
		if c := k.index.Load().find(ptr.ID); c != nil {
			return c.load(), nil
		}
	}

	return nil, notFound("get", ptr)
}

// List implements state.State.
func (s *State) List(_ context.Context, kind resource.Kind, opts ...state.ListOption) ([]resource.Resource, error) {
	k := s.lookup(kind)
	if k == nil {
		return nil, nil
	}

	if len(opts) == 0 {
		return k.list(), nil
	}

	o := state.Apply(opts)

	return k.listMatching(filter{labels: o.LabelQueries, id: o.IDQuery}), nil
}

func notFound(op string, ptr resource.Pointer) error {
	return state.NewError(state.NotFound, op, ptr, "does not exist")
}
