// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"slices"
	"sort"
)

// block is a sorted list of keys that were put in at once; a key is found by binary search. At the start of a runtime these
// are all resources. Adding each key to a map and deleting it again took longer than all other work of the start.
type block[K comparable, V any] struct {
	parts   [][]queued[K, V] // of length fillStep, except the last
	len     int
	most    int  // limit of the keys
	left    int  // keys that are not removed
	full    bool // no more keys will be added
	compare func(a, b K) int
}

// fillStep is how many keys fill puts in before it releases the lock.
const fillStep = 64

func (b *block[K, V]) at(i int) *queued[K, V] { return &b.parts[i/fillStep][i%fillStep] }

// add adds a key that sorts after all others.
func (b *block[K, V]) add(key K) *queued[K, V] {
	if b.len%fillStep == 0 {
		b.parts = append(b.parts, make([]queued[K, V], min(fillStep, b.most-b.len)))
	}

	it := b.at(b.len)
	it.key, it.block = key, b
	b.len++
	b.left++

	return it
}

func (b *block[K, V]) find(key K) *queued[K, V] {
	i := sort.Search(b.len, func(i int) bool { return b.compare(b.at(i).key, key) >= 0 })
	if i < b.len {
		if it := b.at(i); it.key == key && it.where != forgotten {
			return it
		}
	}

	return nil
}

// each calls fn for all keys that are not removed.
func (b *block[K, V]) each(fn func(*queued[K, V])) {
	for i := range b.len {
		if it := b.at(i); it.where != forgotten {
			fn(it)
		}
	}
}

// fill puts n keys with the zero value in. They should be sorted by compare; a key that is out of order takes longer.
func (q *queue[K, V]) fill(n int, key func(i int) K, compare func(a, b K) int) {
	b := &block[K, V]{compare: compare, most: n, parts: make([][]queued[K, V], 0, (n+fillStep-1)/fillStep)}

	q.mu.Lock()
	q.ready.grow(n)
	q.blocks = append(q.blocks, b)
	q.mu.Unlock()

	for from := 0; from < n; from += fillStep {
		q.mu.Lock()

		for i := from; i < min(from+fillStep, n); i++ {
			q.enter(b, key(i))
		}
		q.mu.Unlock()
	}

	q.mu.Lock()
	defer q.mu.Unlock()

	b.full = true
	q.fold(b)
}

// enter puts one key of a fill in. The lock is held.
func (q *queue[K, V]) enter(b *block[K, V], key K) {
	var none V

	if b.len > 0 && b.compare(b.at(b.len-1).key, key) >= 0 {
		q.enterAnywhere(key, none)

		return
	}

	// A key that sorts after all others is not in the block.
	if len(q.items) == 0 && len(q.blocks) == 1 {
		q.push(b.add(key))

		return
	}

	if it := q.find(key); it != nil {
		q.renew(it, none)
	} else {
		q.push(b.add(key))
	}
}

// find returns a key that is not removed, or nil. The lock is held.
func (q *queue[K, V]) find(key K) *queued[K, V] {
	if it := q.items[key]; it != nil {
		return it
	}

	for _, b := range q.blocks {
		if it := b.find(key); it != nil {
			return it
		}
	}

	return nil
}

// forget removes a key. The lock is held.
func (q *queue[K, V]) forget(it *queued[K, V]) {
	it.where = forgotten

	if it.block == nil {
		delete(q.items, it.key)
	} else {
		it.block.left--
	}
}

// fold moves the last few keys of a block to the map, where they are found faster, and removes the block. The lock is held.
func (q *queue[K, V]) fold(b *block[K, V]) {
	const little = 16

	if !b.full || b.left > b.len/little {
		return
	}

	q.blocks = slices.DeleteFunc(q.blocks, func(x *block[K, V]) bool { return x == b })

	b.each(func(it *queued[K, V]) {
		it.block = nil
		q.items[it.key] = it
	})
}

// size counts the keys that are not removed. The lock is held.
func (q *queue[K, V]) size() int {
	n := len(q.items)
	for _, b := range q.blocks {
		n += b.left
	}

	return n
}
