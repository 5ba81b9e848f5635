// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"sync"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Journal makes changes durable. A change is visible only after that.
type Journal interface {
	// Check refuses a change that can never be made durable, before it shares the fate of others. It may be called by
	// many at once, and sees the address of the change only.
	Check(kind resource.Kind, id string) error
	// Commit makes the changes durable, all or none. There is one call at a time, and its changes are what many
	// writers want meanwhile: one disk write serves them all.
	Commit(changes []Change) error
}

// Change is one change for a journal.
type Change struct {
	Kind resource.Kind
	ID   string
	Type state.EventType
	// Now is the version that is current then, and Old the one that was: nil for Created; both the last one for
	// Destroyed.
	Now, Old resource.Resource
	// NowWire is the stored form of Now (resource.MarshalWire).
	NowWire []byte
	// Seq numbers the changes of the kind from 1; OldSeq is that of the change that made Old.
	Seq, OldSeq uint64
}

// pendingWrite is a change on its way into the journal. The next writer of the resource waits for it; readers do not.
type pendingWrite struct {
	Change

	kind   *kind
	weight weight
	done   chan struct{}
	err    error
}

// journal gathers the writes that come while the last ones are made durable.
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

// waitFor waits until no write of the resource is under way. The lock is held before and after.
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

	// Who comes first commits itself: a lone writer then waits for the disk, and not for other goroutines to be woken.
	if first {
		j.next()

		if !j.rest() {
			go j.run()
		}
	}

	<-w.done

	return w.err
}

// rest ends the run if nothing waits.
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

// run commits until nothing waits.
func (j *journal) run() {
	for !j.rest() {
		j.next()
	}
}

// next commits what waits.
func (j *journal) next() {
	j.mu.Lock()
	batch := j.waiting
	j.waiting = nil
	j.mu.Unlock()

	j.commit(batch)
}

// commit makes the changes durable, and tells their writers. One that can not be must not fail the others, so a batch that
// fails is tried again in halves.
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

// number gives the writes their places in the histories of their kinds. Nobody else publishes meanwhile.
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

// finish publishes the write, or drops it if it failed, and lets the next writer of the resource go on.
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

// Close waits for the writes under way and refuses further ones. A state without a journal need not be closed.
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
