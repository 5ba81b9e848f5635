// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	backoffFirst  = 500 * time.Millisecond
	backoffMost   = time.Minute
	backoffFactor = 1.5
	backoffSpread = 0.5 // either way
)

// backoff is the delay before the next attempt. It grows until reset.
//
// A change of an input may fix the failure, so it shortens the delay to the floor, which is zero at first. If the early
// attempt fails too, the floor grows like the delay itself. So an input that changes all the time does not defeat the
// backoff.
type backoff struct {
	mu           sync.Mutex
	delay, floor time.Duration
}

func newBackoff() *backoff { return &backoff{delay: backoffFirst} }

// next returns how long to wait, and the minimum wait if an input changes. early means that a change started the failed
// attempt early.
func (b *backoff) next(early bool) (delay, floor time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()

	switch {
	case !early:
		b.floor = 0
	case b.floor == 0:
		b.floor = backoffFirst
	default:
		b.floor = longer(b.floor)
	}

	delay = spread(b.delay)
	floor = min(delay, spread(b.floor))
	b.delay = longer(b.delay)

	return delay, floor
}

func longer(d time.Duration) time.Duration {
	return min(time.Duration(float64(d)*backoffFactor), backoffMost)
}

func spread(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (1 - backoffSpread + 2*backoffSpread*rand.Float64()))
}

func (b *backoff) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.delay, b.floor = backoffFirst, 0
}

// wait returns the next delay for work that no change starts early.
func (b *backoff) wait() time.Duration {
	delay, _ := b.next(false)

	return delay
}
