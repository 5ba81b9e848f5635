// SPDX-License-Identifier: Apache-2.0

package runtime

import "slices"

// fifo is a queue in a slice. When half of the slice is used up, the rest is copied to the front.
type fifo[T any] struct {
	list []T
	head int
}

func (f *fifo[T]) len() int { return len(f.list) - f.head }

// grow makes room for n more.
func (f *fifo[T]) grow(n int) { f.list = slices.Grow(f.list, n) }

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
func (h delayedHeap[K, V]) Less(i, j int) bool { return h[i].due < h[j].due }

func (h delayedHeap[K, V]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = int32(i), int32(j)
}

func (h *delayedHeap[K, V]) Push(x any) {
	it := x.(*queued[K, V]) // only release calls it
	it.index = int32(len(*h))
	*h = append(*h, it)
}

func (h *delayedHeap[K, V]) Pop() any {
	old := *h
	it := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]

	return it
}
