// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"
)

// queue holds each key once. A key that was taken is held until it is released; what is put meanwhile waits for that.
// Keys that are due come out in the order in which they became due.
type queue[K comparable, V any] struct {
	mu      sync.Mutex
	cond    sync.Cond
	items   map[K]*queued[K, V]
	ready   fifo[*queued[K, V]]
	delayed delayedHeap[K, V]
	timer   *time.Timer
	closed  bool
}

// queued is a key somewhere in the queue.
type queued[K comparable, V any] struct {
	key   K
	value V
	due   time.Time // of a delayed one
	place int       // in the heap
	where place
	again bool // put while held; value is the newest
}

type place uint8

const (
	inReady place = iota + 1
	inDelayed
	inWork
)

func newQueue[K comparable, V any]() *queue[K, V] {
	q := &queue[K, V]{items: map[K]*queued[K, V]{}}
	q.cond.L = &q.mu

	return q
}

// put makes the key due now.
func (q *queue[K, V]) put(key K, value V) {
	q.mu.Lock()
	defer q.mu.Unlock()

	if it := q.items[key]; it != nil {
		q.renew(it, value)
	} else {
		q.add(&queued[K, V]{key: key, value: value})
	}
}

// fillStep is how many keys fill puts in before it lets others to the queue.
const fillStep = 64

// fill puts many keys in, of the same value.
func (q *queue[K, V]) fill(keys []K, value V) {
	q.mu.Lock()

	if len(q.items) == 0 {
		q.items = make(map[K]*queued[K, V], len(keys))
	}
	q.mu.Unlock()

	for part := range slices.Chunk(keys, fillStep) {
		items := make([]queued[K, V], len(part))

		q.mu.Lock()

		for i, key := range part {
			if it := q.items[key]; it != nil {
				q.renew(it, value)
			} else {
				items[i].key, items[i].value = key, value
				q.add(&items[i])
			}
		}
		q.mu.Unlock()
	}
}

// add puts a new key in. The lock is held.
func (q *queue[K, V]) add(it *queued[K, V]) {
	q.items[it.key] = it
	q.push(it)
}

// renew makes a key that is there due now. The lock is held.
func (q *queue[K, V]) renew(it *queued[K, V], value V) {
	it.value = value

	switch it.where {
	case inWork:
		it.again = true
	case inDelayed:
		heap.Remove(&q.delayed, it.place)
		q.push(it)
	}
}

func (q *queue[K, V]) push(it *queued[K, V]) {
	it.where = inReady
	q.ready.push(it)
	q.cond.Signal()
}

// take waits for a key and holds it; nil when the context has ended. Of the item only the key is for who holds it.
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

	return it, it.value
}

// release ends the hold. A delay of zero or more puts the key back, unless a put came meanwhile, which is due now.
func (q *queue[K, V]) release(it *queued[K, V], delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()

	switch {
	case it.again || delay == 0:
		it.again = false
		q.push(it)
	case delay > 0:
		it.where, it.due = inDelayed, time.Now().Add(delay)
		heap.Push(&q.delayed, it)
		q.arm()
	default:
		delete(q.items, it.key)
	}
}

// arm sets the timer for the first delayed key. The lock is held.
func (q *queue[K, V]) arm() {
	if q.closed || len(q.delayed) == 0 {
		return
	}

	wait := time.Until(q.delayed[0].due)

	if q.timer == nil {
		q.timer = time.AfterFunc(wait, q.wake)
	} else {
		q.timer.Reset(wait)
	}
}

func (q *queue[K, V]) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()

	for now := time.Now(); len(q.delayed) > 0 && !q.delayed[0].due.After(now); {
		q.push(heap.Pop(&q.delayed).(*queued[K, V])) //nolint:forcetypeassert // the heap holds nothing else
	}

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

	n := q.ready.len() + len(q.delayed)

	for _, it := range q.items {
		if it.where == inWork && it.again {
			n++
		}
	}

	return n
}

// fifo is a queue in a slice that is made anew when half of it has gone.
type fifo[T any] struct {
	list []T
	head int
}

func (f *fifo[T]) len() int { return len(f.list) - f.head }

func (f *fifo[T]) push(x T) { f.list = append(f.list, x) }

func (f *fifo[T]) pop() T {
	var none T

	x := f.list[f.head]
	f.list[f.head] = none
	f.head++

	if 2*f.head >= len(f.list) {
		n := copy(f.list, f.list[f.head:])
		clear(f.list[n:])
		f.list, f.head = f.list[:n], 0
	}

	return x
}

// delayedHeap is a heap by due time.
type delayedHeap[K comparable, V any] []*queued[K, V]

func (h delayedHeap[K, V]) Len() int           { return len(h) }
func (h delayedHeap[K, V]) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

func (h delayedHeap[K, V]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *delayedHeap[K, V]) Push(x any) {
	it := x.(*queued[K, V]) //nolint:forcetypeassert // called by release alone
	it.place = len(*h)
	*h = append(*h, it)
}

func (h *delayedHeap[K, V]) Pop() any {
	old := *h
	it := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]

	return it
}
