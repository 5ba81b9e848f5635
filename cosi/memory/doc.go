// SPDX-License-Identifier: Apache-2.0

// Package memory is a state in memory. It is made for many readers:
//
//   - A stored version never changes. Get hands out the version itself: a hash probe over atomic pointers, no lock,
//     no copy, no allocation.
//   - List is a snapshot in id order that does not stop writers; an unchanged kind is listed by copying one slice.
//   - A write replaces one pointer under the lock of its kind. Writers of different kinds never meet.
//   - A watch costs no goroutine while its reader keeps up: the writer puts the event straight into the channel. A
//     reader that falls behind gets a goroutine that reads the history for it, and one that falls out of the
//     history is caught up with one event for each resource that changed meanwhile: its memory is bounded by the
//     size of the kind, and the writer does not wait.
//
// Why not a persistent tree: copying a path for each update costs more than the whole update does here, and a list
// has to visit all items anyway. Why not one log with a pointer for each watcher: a reader that sleeps would keep
// all of it.
//
// # Concurrency
//
// Every operation takes effect at one moment between its call and its return (the store is linearizable). A watch
// delivers the changes of its kind in order, each one after the change can be read.
//
// Who holds what:
//
//	State.kinds       read without a lock; the map is replaced, never changed. State.mu is held to replace it.
//	State.recent      hints for lookup, without a lock. A hint is checked before it is used: name, and not dropped.
//	kind.index        read without a lock; kind.mu is held to change it
//	cell.version      the same
//	kind.begun, seq   numbers of the last change that has begun, and that is complete; written with kind.mu
//	kind.generation   counts creations and destructions; written with kind.mu
//	kind.order, view  immutable values behind an atomic pointer. An order is replaced with kind.mu held, a view without it.
//	all else of kind  kind.mu: the history, label indexes, subscriptions, hooks, pending writes, and cell.mod
//	journal           journal.mu: the queue of writes, and whether a goroutine is committing them
//	Feed              used by one goroutine at a time, after New and before the state is closed; Load before there are readers
//
// A goroutine that holds kind.mu may take State.mu, and no second lock of this package is taken otherwise. No lock is
// held while a journal writes, a function of the caller runs (other than a hook of Notify, which must not call the
// state), or a channel blocks.
//
// All values that are read without a lock are atomic. Go orders all atomic operations of a program in one sequence
// that every goroutine agrees on, and what was written before an atomic store is seen after the load that read it.
// The arguments below rest on these two.
//
// Get. An index is a hash table with open addresses (index.go). A slot goes from empty to a cell, from one cell to
// another of the same id, and from a cell to a grave, and is never empty again. So the chain of slots that leads to
// an id never becomes shorter, and a reader that walks it while writers work misses no resource that is there all the
// time. The tag of a slot is written once, before the slot, and so is seen with it. A full index is replaced by a
// copy. A reader that still walks the old one can find a resource that has been destroyed since; it was there when
// the reader loaded the index, so the read counts as one from before the destruction.
//
// List. A snapshot without the lock is a sequence lock whose writers never wait (snapshot). A writer sets begun,
// makes its change, and sets seq. A reader loads seq, then the order and the versions, then begun. If begun equals
// the seq it loaded first, all changes up to it were complete before the first load, and none had begun before the
// last, so all that was read is of one moment. An order is used only if it has the present generation: it then has
// the very cells that are alive. Otherwise the reader takes the lock, so a list never tries more than twice. A view
// is good while begun is its number. A writer discards the view after its change; who stores a view checks begun
// again afterwards, so one of the two always discards a view that is too old. (That is about memory only: an old view
// is not used.)
//
// Write. The version to replace is read, checked and replaced with kind.mu held. Modify runs the caller's function
// without the lock, on a copy, and starts again if the version it copied is no longer the current one; versions are
// compared by identity, which is safe because the writer keeps the old one alive.
//
// Write with a journal. The change reserves its id in kind.pending and lets the lock go, so readers go on, and see
// the old version until the change is durable. Another writer of the id waits for it. One goroutine commits at a time
// and takes all that waits, so it alone numbers changes, and the order in the journal is the order in the history.
// The result is published with kind.mu held, before the writers who wait are let go.
//
// Watch. Either the writer sends to the channel (the subscription is live) or its pump does, never both: the flag
// changes with kind.mu held, and a pump makes its subscription live only when it has sent all it took and the history
// holds nothing more. The writer never blocks: when a channel is full, it starts a pump. A pump ends when its reader
// has caught up or the watch's context has ended, so no goroutine outlives its watch.
//
// A kind that nothing was ever stored in is dropped with its last watch, with kind.mu held until the map is replaced.
// Whoever found it before and locks it afterwards sees that it was dropped, and looks again (lockKind); a Get needs
// not look, since the kind was empty at a moment of the call.
package memory
