// SPDX-License-Identifier: Apache-2.0

package client

import (
	"math/rand/v2"
	"time"
)

const (
	firstDelay = 500 * time.Millisecond
	// maxDelay is for a service that many clusters use; maxDelayCarried for one of this cluster's own machines.
	maxDelay        = time.Minute
	maxDelayCarried = 8 * time.Second
	// steady is how long a connection must have lasted for the delays to begin with the first again.
	steady = 10 * time.Second
)

// backoff is the delay before the next connection.
type backoff struct {
	limit time.Duration
	next  time.Duration
}

// delay returns the next delay: half to one and a half of one that grows.
func (b *backoff) delay() time.Duration {
	if b.next == 0 {
		b.next = firstDelay
	}

	d := b.next/2 + rand.N(b.next)
	b.next = min(b.next*3/2, b.limit)

	return d
}

func (b *backoff) reset() { b.next = 0 }
