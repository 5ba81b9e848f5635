// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"fmt"
	"sync"
	"time"
)

// pace delivers the wake-ups of one controller, and delays those that exceed the limit. While a wake-up is delayed, or not
// yet received by the controller, further ones are merged into it.
type pace struct {
	limit   RateLimit
	deliver func() bool // does not block; false if the last wake-up is still pending
	tell    func(limited bool)

	mu     sync.Mutex
	used   int // rounds that no refill has given back yet
	held   bool
	armed  bool
	streak streak
}

func (p *pace) wake() {
	if p.limit.none() {
		p.deliver()

		return
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	switch {
	case p.held:
		return
	case p.used >= p.limit.burst():
		p.held = true
	case p.deliver():
		p.used++
	}

	p.arm()
}

// arm starts the refill. The lock is held.
func (p *pace) arm() {
	if !p.armed && (p.used > 0 || p.streak.told) {
		p.armed = true

		time.AfterFunc(p.limit.refillEvery(), p.refill)
	}
}

func (p *pace) refill() {
	p.mu.Lock()

	p.used = max(0, p.used-p.limit.perRefill())
	limited, news := p.streak.next(p.held)

	if p.held {
		p.held = false

		if p.deliver() {
			p.used++
		}
	}

	p.mu.Unlock()

	if news {
		p.tell(limited)
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	p.armed = false
	p.arm()
}

// streak decides when a limit has been exceeded long enough to show it to users, and when that is over.
type streak struct {
	held, free int // refills in a row
	told       bool
}

const (
	tellAfter   = mostRefills
	untellAfter = 2 * tellAfter
)

// next is called at each refill.
func (s *streak) next(held bool) (limited, news bool) {
	if held {
		s.held, s.free = s.held+1, 0
	} else {
		s.held, s.free = 0, s.free+1
	}

	switch {
	case !s.told && s.held > tellAfter:
		s.told = true
	case s.told && s.free >= untellAfter:
		s.told = false
	default:
		return s.told, false
	}

	return s.told, true
}

// limitText returns the error in the status of a rate-limited controller.
func limitText(limit RateLimit) string {
	return fmt.Sprintf("rate limited to %d rounds a second: something wakes it without end; check whether it changes its own inputs, directly or through other controllers", limit.PerSecond)
}
