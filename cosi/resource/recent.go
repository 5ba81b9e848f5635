// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"sync"
	"sync/atomic"
)

// Encodings are kept for the many readers that read the same version at about the same time, and not longer. Of all
// encodings in the process, the last recentBytes are kept. The oldest is kept once more if it has been used.
const (
	recentBytes = 4 << 20
	recentCount = 1 << 13
)

// recentEncodings is a ring, oldest first.
type recentEncodings struct {
	mu    sync.Mutex
	ring  []recentEncoding
	first int
	count int
	bytes int
}

type recentEncoding struct {
	at *atomic.Pointer[encoded]
	e  *encoded
}

var recent recentEncodings

// keep stores an encoding in its version, until it is among the oldest.
func (c *recentEncodings) keep(at *atomic.Pointer[encoded], e *encoded) {
	e.used.Store(true) // else the newest would be the first to be removed when all others are used
	at.Store(e)

	c.mu.Lock()
	defer c.mu.Unlock()

	if c.ring == nil {
		c.ring = make([]recentEncoding, recentCount)
	}

	c.push(recentEncoding{at, e})

	// An encoding that is kept is marked as unused, so the loop ends at the second pass.
	for c.count > 1 && (c.bytes > recentBytes || c.count == len(c.ring)) {
		if oldest := c.pop(); oldest.e.used.Swap(false) {
			c.push(oldest)
		} else {
			oldest.at.CompareAndSwap(oldest.e, nil)
		}
	}
}

func (c *recentEncodings) push(r recentEncoding) {
	c.ring[(c.first+c.count)%len(c.ring)] = r
	c.count++
	c.bytes += r.e.size()
}

func (c *recentEncodings) pop() recentEncoding {
	r := c.ring[c.first]
	c.ring[c.first] = recentEncoding{}
	c.first = (c.first + 1) % len(c.ring)
	c.count--
	c.bytes -= r.e.size()

	return r
}
