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
type backoff struct {
	mu    sync.Mutex
	delay time.Duration
}

func newBackoff() *backoff { return &backoff{delay: backoffFirst} }

func (b *backoff) next() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()

	d := float64(b.delay)
	b.delay = min(time.Duration(d*backoffFactor), backoffMost)

	return time.Duration(d * (1 - backoffSpread + 2*backoffSpread*rand.Float64()))
}

func (b *backoff) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.delay = backoffFirst
}
