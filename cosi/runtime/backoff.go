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

// backoff is the delay before the next attempt, growing until reset.
//
// A change of an input may have cured the failure, so it cuts the delay short. If what it brings forward fails too, the
// next change does so after a while only, which grows like the delay itself: inputs that always change do not defeat it.
type backoff struct {
	mu           sync.Mutex
	delay, floor time.Duration
}

func newBackoff() *backoff { return &backoff{delay: backoffFirst} }

// next returns how long to wait, and how long at least if something changes. early says that the attempt that has just
// failed was brought forward by a change.
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

// wait is the next delay of what nothing brings forward.
func (b *backoff) wait() time.Duration {
	delay, _ := b.next(false)

	return delay
}
