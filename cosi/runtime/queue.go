// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// queue contains each key at most once. A key that was taken is held until it is released; a put of a held key takes effect
// after the release. Keys come out in the order in which they became due. A key that comes more often than the limit
// allows waits for the next refill.
type queue[K comparable, V any] struct {
	limit RateLimit
	// tell is called when a key begins or stops to exceed the limit.
	tell func(key K, limited bool)
	made time.Time

	mu      sync.Mutex
	cond    sync.Cond
	items   map[K]*queued[K, V]
	blocks  []*block[K, V] // the keys of fills: a key is in one of them, or in items
	ready   fifo[*queued[K, V]]
	delayed delayedHeap[K, V]
	timer   *time.Timer
	rates   rates[K, V]
	again   int // held keys that were put again
	closed  bool
}

// queued is a key somewhere in the queue.
type queued[K comparable, V any] struct {
	key   K
	value V
	due   time.Duration // of a delayed key, since the queue was created
	floor time.Duration // of a failed key: a put makes it due at this time or later
	block *block[K, V]  // nil for a key in items
	index int32         // in the heap
	used  int32         // part of the limit
	where place
	again bool // put while held; value is the newest
	early bool // a put has made it due early
}

type place uint8

const (
	inReady place = iota + 1
	inDelayed
	inWork
	inRates // over the limit
	atRest  // done, and kept only for the limit
	forgotten
)

func newQueue[K comparable, V any](limit RateLimit, tell func(K, bool)) *queue[K, V] {
	q := &queue[K, V]{limit: limit, tell: tell, made: time.Now(), items: map[K]*queued[K, V]{}}
	q.cond.L = &q.mu

	return q
}

// put makes the key due now.
func (q *queue[K, V]) put(key K, value V) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.enterAnywhere(key, value)
}

// enterAnywhere makes a key due now, whether it is in the queue or not. The lock is held.
func (q *queue[K, V]) enterAnywhere(key K, value V) {
	if it := q.find(key); it != nil {
		q.renew(it, value)

		return
	}

	it := &queued[K, V]{key: key, value: value}
	q.items[key] = it
	q.push(it)
}

// now returns the time since the queue was created.
func (q *queue[K, V]) now() time.Duration { return time.Since(q.made) }

// renew makes a key in the queue due now. The lock is held.
func (q *queue[K, V]) renew(it *queued[K, V], value V) {
	it.value = value

	switch it.where {
	case inWork:
		if !it.again {
			it.again = true
			q.again++
		}
	case inDelayed:
		it.early = true

		if wait := it.floor; q.now() < wait {
			if wait < it.due {
				it.due = wait
				heap.Fix(&q.delayed, int(it.index))
				q.arm()
			}

			return
		}

		heap.Remove(&q.delayed, int(it.index))
		q.push(it)
	case atRest:
		q.rates.resting--
		q.push(it)
	}
}

func (q *queue[K, V]) push(it *queued[K, V]) {
	if !q.limit.none() && int(it.used) >= q.limit.burst() {
		it.where = inRates
		q.rates.held = append(q.rates.held, it)

		return
	}

	it.where = inReady
	q.ready.push(it)
	q.cond.Signal()
}

// take waits for a key and holds it; it returns nil when the context has ended. The caller may read only key and early of
// the item.
func (q *queue[K, V]) take(ctx context.Context) (it *queued[K, V], value V) {
	q.mu.Lock()
	defer q.mu.Unlock()

	for q.ready.len() == 0 && ctx.Err() == nil {
		q.cond.Wait()
	}

	if ctx.Err() != nil {
		return nil, value
	}

	it = q.ready.pop()
	it.where = inWork
	q.use(it)

	return it, it.value
}

// release ends the hold. A delay of zero or more puts the key back. If the key was put during the hold, it is due now.
func (q *queue[K, V]) release(it *queued[K, V], delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()

	it.floor, it.early = 0, false

	switch {
	case q.putWhileHeld(it) || delay == 0:
		q.push(it)
	case delay > 0:
		q.delay(it, delay)
	case it.used == 0: // there is no limit, or refills have given back everything
		q.forget(it)

		if it.block != nil {
			q.fold(it.block)
		}
	default:
		it.where = atRest
		q.rates.resting++
	}
}

// retry ends the hold of a key whose work has failed. The key is due after the delay, or after the floor if it is put, also
// during the hold.
func (q *queue[K, V]) retry(it *queued[K, V], delay, floor time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()

	it.floor = q.now() + floor

	if it.early = q.putWhileHeld(it); it.early {
		delay = min(delay, floor)
	}

	if delay <= 0 {
		q.push(it)
	} else {
		q.delay(it, delay)
	}
}

// putWhileHeld reports whether a key was put while it was held, and clears that. The lock is held.
func (q *queue[K, V]) putWhileHeld(it *queued[K, V]) bool {
	if !it.again {
		return false
	}

	it.again = false
	q.again--

	return true
}

// delay makes a key due after a wait. The lock is held.
func (q *queue[K, V]) delay(it *queued[K, V], wait time.Duration) {
	it.where, it.due = inDelayed, q.now()+wait
	heap.Push(&q.delayed, it)
	q.arm()
}

// arm sets the timer for the first delayed key. The lock is held.
func (q *queue[K, V]) arm() {
	if q.closed || len(q.delayed) == 0 {
		return
	}

	wait := q.delayed[0].due - q.now()

	if q.timer == nil {
		q.timer = time.AfterFunc(wait, q.wake)
	} else {
		q.timer.Reset(wait)
	}
}

func (q *queue[K, V]) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()

	for now := q.now(); len(q.delayed) > 0 && q.delayed[0].due <= now; {
		q.push(heap.Pop(&q.delayed).(*queued[K, V])) // the heap holds nothing else
	}

	q.arm()
}

// open opens a closed queue again.
func (q *queue[K, V]) open() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.closed = false
	q.arm()
}

// close wakes all waiting goroutines, when their context has ended.
func (q *queue[K, V]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.closed = true

	if q.timer != nil {
		q.timer.Stop()
	}

	q.cond.Broadcast()
}

// len counts the keys that are waiting, and the held ones that were put again.
func (q *queue[K, V]) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()

	return q.ready.len() + len(q.delayed) + len(q.rates.held) + q.again
}
