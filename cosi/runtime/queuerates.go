// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"slices"
	"time"
)

// rates records how much of the limit the keys of a queue have used. A refill gives back to all keys at once, so a single key
// does not need the clock. A key that is done stays in the queue until refills have given back all that it has used.
type rates[K comparable, V any] struct {
	held    []*queued[K, V] // keys that wait for the refill
	resting int             // keys that are done
	most    int             // the most that any key has used
	armed   bool
	told    map[K]*streak
}

// use counts that a key was taken. The lock is held.
func (q *queue[K, V]) use(it *queued[K, V]) {
	if q.limit.none() {
		return
	}

	it.used++
	q.rates.most = max(q.rates.most, int(it.used))
	q.refillLater()
}

// refillLater starts the refill. The lock is held.
func (q *queue[K, V]) refillLater() {
	if q.rates.armed || q.size() == 0 && len(q.rates.told) == 0 {
		return
	}

	q.rates.armed = true

	time.AfterFunc(q.limit.refillEvery(), q.refill)
}

func (q *queue[K, V]) refill() {
	q.mu.Lock()

	held := q.rates.held
	q.rates.held = nil

	q.giveBack()

	for _, it := range held {
		q.push(it)
	}

	news := q.rates.streaks(held)
	q.mu.Unlock()

	for key, limited := range news {
		q.tell(key, limited)
	}

	q.mu.Lock()
	defer q.mu.Unlock()

	q.rates.armed = false
	if q.rates.most > 0 || len(q.rates.held) > 0 || len(q.rates.told) > 0 {
		q.refillLater()
	}
}

// giveBack gives back to all keys, and removes those that are done and have nothing left to give back. The lock is held.
func (q *queue[K, V]) giveBack() {
	step := q.limit.perRefill()
	filling := slices.ContainsFunc(q.blocks, func(b *block[K, V]) bool { return !b.full })

	if q.rates.resting == q.size() && q.rates.most <= step && !filling {
		q.items, q.blocks, q.rates.resting, q.rates.most = map[K]*queued[K, V]{}, nil, 0, 0

		return
	}

	q.rates.most = 0

	lower := func(it *queued[K, V]) {
		it.used = int32(max(0, int(it.used)-step))
		q.rates.most = max(q.rates.most, int(it.used))

		if it.where == atRest && it.used == 0 {
			q.forget(it)

			q.rates.resting--
		}
	}

	for _, it := range q.items {
		lower(it)
	}

	for _, b := range slices.Clone(q.blocks) {
		b.each(lower)
		q.fold(b)
	}
}

// streaks returns the keys that users must see as limited from now on, and those that are no longer limited.
func (r *rates[K, V]) streaks(held []*queued[K, V]) map[K]bool {
	if len(held) == 0 && len(r.told) == 0 {
		return nil
	}

	if r.told == nil {
		r.told = map[K]*streak{}
	}

	now := make(map[K]bool, len(held))

	for _, it := range held {
		now[it.key] = true

		if r.told[it.key] == nil {
			r.told[it.key] = &streak{}
		}
	}

	news := map[K]bool{}

	for key, s := range r.told {
		limited, is := s.next(now[key])
		if is {
			news[key] = limited
		}

		if !limited && s.free >= untellAfter {
			delete(r.told, key)
		}
	}

	return news
}
