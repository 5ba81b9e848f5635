// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// queue holds each key once. A key that was taken is held until it is released; what is put meanwhile waits for that.
// Keys that are due come out in the order in which they became due. A key that comes more often than the limit allows
// waits for the next refill.
type queue[K comparable, V any] struct {
	limit RateLimit
	// tell is called when a key begins or ceases to exceed the limit.
	tell func(key K, limited bool)
	made time.Time

	mu      sync.Mutex
	cond    sync.Cond
	items   map[K]*queued[K, V]
	blocks  []*block[K, V] // of what fill put in: a key is in one of them, or in items
	ready   fifo[*queued[K, V]]
	delayed delayedHeap[K, V]
	timer   *time.Timer
	rates   rates[K, V]
	again   int // keys in work that were put meanwhile
	closed  bool
}

// queued is a key somewhere in the queue.
type queued[K comparable, V any] struct {
	key   K
	value V
	due   time.Duration // of a delayed one, since the queue was made
	floor time.Duration // of a failed one: a put does not bring it forward beyond this
	block *block[K, V]  // nil for one in items
	index int32         // in the heap
	used  int32         // of the limit
	where place
	again bool // put while held; value is the newest
	early bool // a put has brought it forward
}

type place uint8

const (
	inReady place = iota + 1
	inDelayed
	inWork
	inRates // over the limit
	atRest  // done, and only remembered for the limit
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

// enterAnywhere makes a key due now that may be there. The lock is held.
func (q *queue[K, V]) enterAnywhere(key K, value V) {
	if it := q.find(key); it != nil {
		q.renew(it, value)

		return
	}

	it := &queued[K, V]{key: key, value: value}
	q.items[key] = it
	q.push(it)
}

// now is the time since the queue was made.
func (q *queue[K, V]) now() time.Duration { return time.Since(q.made) }

// renew makes a key that is there due now. The lock is held.
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

// take waits for a key and holds it; nil when the context has ended. Of the item only the key, and whether it came
// early, is for who holds it.
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

// release ends the hold. A delay of zero or more puts the key back, unless a put came meanwhile, which is due now.
func (q *queue[K, V]) release(it *queued[K, V], delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()

	it.floor, it.early = 0, false

	switch {
	case q.putMeanwhile(it) || delay == 0:
		q.push(it)
	case delay > 0:
		q.delay(it, delay)
	case it.used == 0: // there is no limit, or all was given back meanwhile
		q.forget(it)

		if it.block != nil {
			q.fold(it.block)
		}
	default:
		it.where = atRest
		q.rates.resting++
	}
}

// retry ends the hold of a key whose work has failed. It is due after the delay; a put, also one that came meanwhile,
// makes it due after the floor.
func (q *queue[K, V]) retry(it *queued[K, V], delay, floor time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()

	it.floor = q.now() + floor

	if it.early = q.putMeanwhile(it); it.early {
		delay = min(delay, floor)
	}

	if delay <= 0 {
		q.push(it)
	} else {
		q.delay(it, delay)
	}
}

// putMeanwhile reports whether a key was put while it was held, and forgets it. The lock is held.
func (q *queue[K, V]) putMeanwhile(it *queued[K, V]) bool {
	if !it.again {
		return false
	}

	it.again = false
	q.again--

	return true
}

// delay makes a key due after a while. The lock is held.
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

// open takes back a close.
func (q *queue[K, V]) open() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.closed = false
	q.arm()
}

// close wakes all who wait, when their context has ended.
func (q *queue[K, V]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.closed = true

	if q.timer != nil {
		q.timer.Stop()
	}

	q.cond.Broadcast()
}

// len counts the keys that are not in work, and those that will be worked on again.
func (q *queue[K, V]) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()

	return q.ready.len() + len(q.delayed) + len(q.rates.held) + q.again
}
