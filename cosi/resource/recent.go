// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"sync"
	"sync/atomic"
)

// Encodings are kept for the many readers of the same version, who come at about the same time, and not for longer: of
// all that is encoded in the process, the last recentBytes stay, and those that were used meanwhile once more.
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

// keep stores an encoding where its version looks for it, until it is among the oldest.
func (c *recentEncodings) keep(at *atomic.Pointer[encoded], e *encoded) {
	e.used.Store(true) // the newest is not the first to go when all others are used
	at.Store(e)

	c.mu.Lock()
	defer c.mu.Unlock()

	if c.ring == nil {
		c.ring = make([]recentEncoding, recentCount)
	}

	c.push(recentEncoding{at, e})

	// What is spared is no longer used: the second time around somebody goes.
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
