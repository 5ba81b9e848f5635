// SPDX-License-Identifier: Apache-2.0

// Package memory is a state in memory, designed for many readers:
//
//   - A stored version never changes. Get returns the version itself: a hash probe over atomic pointers, no lock,
//     no copy, no allocation.
//   - List is a snapshot in id order that does not stop writers; an unchanged kind is listed by copying one slice.
//   - A write replaces one pointer under the lock of its kind. Writers of different kinds never meet.
//   - A watch needs no goroutine while its reader keeps up: the writer sends the event into the channel itself. A reader
//     that falls behind gets a goroutine that reads the history for it. A reader that falls out of the history receives
//     one event for each resource that has changed since. So its memory is bounded by the size of the kind, and the
//     writer does not wait.
//
// Why not a persistent tree: copying a path for each update takes longer than a whole update here, and a list
// has to visit all items anyway. Why not one log with a pointer for each watcher: a reader that sleeps would keep
// the whole log in memory.
//
// # Concurrency
//
// Every operation takes effect at one moment between its call and its return (the store is linearizable). A watch
// delivers the changes of its kind in order, each one after the change can be read.
//
// What guards what:
//
//	State.kinds       read without a lock; the map is replaced, never changed. State.mu is held to replace it.
//	State.recent      hints for lookup, without a lock. A hint is used only if the name is right and the kind not dropped.
//	kind.index        read without a lock; kind.mu is held to change it
//	cell.version      the same
//	kind.begun, seq   numbers of the last change that has begun, and of the last complete one; written with kind.mu
//	kind.generation   counts creations and destructions; written with kind.mu
//	kind.order, view  immutable values behind an atomic pointer. An order is replaced with kind.mu held, a view without it.
//	rest of kind      kind.mu: the history, label indexes, subscriptions, hooks, pending writes, and cell.mod
//	journal           journal.mu: the queue of writes, and whether a goroutine is committing them
//	Feed              used by one goroutine at a time, after New and before the state is closed; Load before there are readers
//
// A goroutine that holds kind.mu may lock State.mu. No goroutine holds two locks of this package otherwise. No lock is
// held while a journal writes, while a function of the caller runs (except a hook of Notify, which must not call the
// state), or while a channel blocks.
//
// All values that are read without a lock are atomic. The arguments below use two guarantees of Go: all atomic
// operations of a program have one order that every goroutine sees, and a goroutine that loads a value sees everything
// that was written before the value was stored.
//
// Get. An index is a hash table with open addressing (index.go). A slot changes from empty to a cell, from one cell to
// another of the same id, and from a cell to a grave; it never becomes empty again. So the chain of slots that leads to
// an id never gets shorter, and a reader that walks it while writers work misses no resource that exists all the time.
// The tag of a slot is written once, before the slot, so a reader that sees the slot sees the tag. A full index is
// replaced by a copy. A reader that still walks the old one can find a resource that has been destroyed since. The
// resource existed when the reader loaded the index, so the read counts as one before the destruction.
//
// List. A snapshot without the lock is a sequence lock whose writers never wait (snapshot). A writer sets begun,
// makes its change, and sets seq. A reader loads seq, then the order and the versions, then begun. If begun equals
// the seq that it loaded first, all changes up to seq were complete before the first load, and no other had begun before
// the last load. So everything it read is of one moment. An order is used only if it has the current generation: then it
// has exactly the live cells. Otherwise the reader takes the lock, so a list never tries more than twice. A view is valid
// while begun is its number. A writer discards the view after its change, and a reader that stores a view checks begun
// again afterwards: one of the two always discards an outdated view. (This only saves memory: an outdated view is never
// used.)
//
// Write. The version to replace is read, checked and replaced with kind.mu held. Modify runs the caller's function
// without the lock, on a copy, and starts again if the version that it copied is no longer the current one. Versions are
// compared by identity, which is safe because the writer keeps the old one alive.
//
// Write with a journal. The change reserves its id in kind.pending and releases the lock. So readers continue, and see
// the old version until the change is durable. Another writer of the id waits for it. One goroutine commits at a time
// and takes all pending changes, so it alone numbers changes, and the order in the journal is the order in the history.
// The result is published with kind.mu held, before the waiting writers continue.
//
// Watch. Either the writer sends to the channel (the subscription is live) or the pump of the subscription does, never
// both: the flag changes with kind.mu held, and a pump makes its subscription live only when it has sent everything that
// it took and the history has no further events. The writer never blocks: when a channel is full, it starts a pump. A
// pump ends when its reader has caught up or the watch's context has ended, so no goroutine outlives its watch.
//
// A kind in which nothing was ever stored is dropped with its last watch, with kind.mu held until the map is replaced. A
// goroutine that found the kind before and locks it afterwards sees that it was dropped, and looks it up again
// (lockKind). A Get does not need to, because the kind was empty at a moment of the call.
package memory
