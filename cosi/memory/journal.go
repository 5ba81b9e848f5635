// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"sync"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Journal makes changes durable. A change becomes visible only after that.
type Journal interface {
	// Check refuses a change that can never be made durable, before it is committed together with others. It may be called
	// concurrently, and gets only the address of the change.
	Check(kind resource.Kind, id string) error
	// Commit makes the changes durable, all or none. There is one call at a time. It gets all changes that are waiting, so
	// one disk write serves many writers.
	Commit(changes []Change) error
}

// Change is one change for a journal.
type Change struct {
	Kind resource.Kind
	ID   string
	Type state.EventType
	// Now is the new version, and Old the previous one. Old is nil for Created. For Destroyed both are the last version.
	Now, Old resource.Resource
	// NowWire is the stored form of Now (resource.MarshalWire).
	NowWire []byte
	// Seq numbers the changes of the kind from 1; OldSeq is the number of the change that stored Old.
	Seq, OldSeq uint64
}

// pendingWrite is a change that is not yet in the journal. The next writer of the resource waits for it; readers do not.
type pendingWrite struct {
	Change

	kind   *kind
	weight weight
	done   chan struct{}
	err    error
}

// journal collects the writes that come during a commit.
type journal struct {
	backing Journal

	mu      sync.Mutex
	waiting []*pendingWrite
	running bool
	closed  bool
	idle    sync.Cond
}

// ErrClosed is the error of a write after Close.
var ErrClosed = errors.New("the store is closed")

// waitFor waits until no write of the resource is pending. The lock is held before and after.
func (k *kind) waitFor(id string) {
	for {
		w := k.pending[id]
		if w == nil {
			return
		}

		k.mu.Unlock()
		<-w.done
		k.mu.Lock()
	}
}

// begin reserves the resource for one change. The lock is held.
func (k *kind) begin(d decision, id string, old resource.Resource) *pendingWrite {
	w := &pendingWrite{
		Change: Change{Kind: k.name, ID: id, Type: d.typ, Now: d.next, Old: old},
		kind:   k, weight: d.weight, done: make(chan struct{}),
	}

	if k.pending == nil {
		k.pending = map[string]*pendingWrite{}
	}

	k.pending[id] = w

	return w
}

// commit waits until the write is durable and visible.
func (s *State) commit(w *pendingWrite) error {
	j := s.journal

	err := j.backing.Check(w.Kind, w.ID)
	if err == nil {
		w.NowWire, err = resource.MarshalWire(w.Now)
	}

	if err != nil {
		w.finish(err)

		return err
	}

	j.mu.Lock()

	if j.closed {
		j.mu.Unlock()
		w.finish(ErrClosed)

		return ErrClosed
	}

	j.waiting = append(j.waiting, w)
	first := !j.running
	j.running = true

	j.mu.Unlock()

	// The first writer commits itself: a lone writer then waits for the disk, but not for another goroutine to wake up.
	if first {
		j.next()

		if !j.rest() {
			go j.run()
		}
	}

	<-w.done

	return w.err
}

// rest ends the run if no write is waiting.
func (j *journal) rest() bool {
	j.mu.Lock()
	defer j.mu.Unlock()

	if len(j.waiting) > 0 {
		return false
	}

	j.running = false
	j.idle.Broadcast()

	return true
}

// run commits until no write is waiting.
func (j *journal) run() {
	for !j.rest() {
		j.next()
	}
}

// next commits the waiting writes.
func (j *journal) next() {
	j.mu.Lock()
	batch := j.waiting
	j.waiting = nil
	j.mu.Unlock()

	j.commit(batch)
}

// commit makes the changes durable and finishes the writes. One bad change must not fail the others, so a failed batch is
// tried again in halves.
func (j *journal) commit(batch []*pendingWrite) {
	number(batch)

	changes := make([]Change, len(batch))
	for i, w := range batch {
		changes[i] = w.Change
	}

	err := j.backing.Commit(changes)
	if err != nil && len(batch) > 1 {
		j.commit(batch[:len(batch)/2])
		j.commit(batch[len(batch)/2:])

		return
	}

	for _, w := range batch {
		w.finish(err)
	}
}

// number gives the writes their places in the histories of their kinds. No other goroutine publishes at the same time.
func number(batch []*pendingWrite) {
	var last map[*kind]uint64
	if len(batch) > 1 {
		last = make(map[*kind]uint64, 1)
	}

	for _, w := range batch {
		w.Seq = max(last[w.kind], w.kind.seq.Load()) + 1

		if last != nil {
			last[w.kind] = w.Seq
		}

		if w.Old != nil {
			w.kind.mu.Lock()
			w.OldSeq = w.kind.index.Load().find(w.ID).mod
			w.kind.mu.Unlock()
		}
	}
}

// finish publishes the write, or drops it if it failed, and lets the next writer of the resource continue.
func (w *pendingWrite) finish(err error) {
	k := w.kind

	k.mu.Lock()
	defer k.mu.Unlock()

	if err == nil {
		c, at := k.index.Load().probe(w.ID)
		k.publish(w.Type, c, at, w.Old, w.Now, w.weight)
	}

	delete(k.pending, w.ID)

	w.err = err
	close(w.done)
}

// Close waits for pending writes and refuses new ones. A state without a journal does not need to be closed.
func (s *State) Close() {
	j := s.journal
	if j == nil {
		return
	}

	j.mu.Lock()
	defer j.mu.Unlock()

	j.closed = true

	for j.running {
		j.idle.Wait()
	}
}
