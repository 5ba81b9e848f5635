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

// Limits of the history of a kind, which serves tails, bookmarks and readers that fall behind.
const (
	// DefaultHistory is the number of events. A kind with few resources keeps fewer: 200, and one more for each resource.
	DefaultHistory = 1024
	// DefaultHistoryBytes is the memory of their versions; a few events are kept whatever their size.
	DefaultHistoryBytes = 4 << 20
)

// State is a state in memory. All namespaces live in it.
type State struct {
	epoch   [epochSize]byte
	limits  limits
	journal *journal // nil: nothing is stored
	feed    *Feed    // nil unless it follows another store
	clock   clock

	kinds  atomic.Pointer[map[resource.Kind]*kind] // replaced, never changed
	mu     sync.Mutex                              // held to replace kinds
	recent [64]atomic.Pointer[kind]                // see lookup
}

var (
	_ state.State    = (*State)(nil)
	_ state.Notifier = (*State)(nil)
)

// Option of New.
type Option func(*State)

// WithHistory limits the number of events of a kind that are kept, also for kinds with few resources. The minimum is one.
// Memory for the history is allocated as it grows.
func WithHistory(events int) Option {
	return func(s *State) { s.limits.entries, s.limits.few = max(events, 1), max(events, 1) }
}

// WithHistoryBytes limits the memory of the old versions of a kind; a few are kept whatever their size.
func WithHistoryBytes(n int) Option { return func(s *State) { s.limits.bytes = n } }

// New returns an empty state.
func New(opts ...Option) *State {
	s := &State{limits: limits{entries: DefaultHistory, few: smallHistory, bytes: DefaultHistoryBytes}}

	rand.Read(s.epoch[:]) // it does not fail

	for _, opt := range opts {
		opt(s)
	}

	s.kinds.Store(&map[resource.Kind]*kind{})

	return s
}

// lookup returns the kind, nil if nothing was ever stored in it and nothing watches it. Before the map it tries a recently
// found kind: comparing names is several times faster than hashing them, which took half of the time of a Get.
func (s *State) lookup(k resource.Kind) *kind {
	slot := &s.recent[slotOf(k)]

	seen := slot.Load()
	if seen != nil && seen.name == k && !seen.dropped.Load() {
		return seen
	}

	found := (*s.kinds.Load())[k]

	// A hint that is in use is not replaced: two kinds would replace each other all the time, and processors contend for the
	// slot.
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

// lockKind returns the kind, locked. A missing kind is added.
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

// dropIfUnused drops a kind in which nothing was stored and which has no watches. Its lock is held.
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
