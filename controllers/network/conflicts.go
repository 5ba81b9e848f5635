// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/sys/acd"
)

// Times of address conflict detection. The first three are RFC 5227's.
const (
	conflictProbes   = 3
	conflictInterval = 2 * time.Second
	// conflictAgain is how often the other machine is probed, and conflictOver after which silence it does not have the address any more.
	conflictAgain = time.Minute
	conflictOver  = 3*conflictAgain + conflictInterval
)

// claimed is an address of this machine on a link.
type claimed struct {
	link uint32
	addr netip.Addr
}

// conflicts has the addresses of this machine, the probes of each, and which other machine has it. It is a state machine, whose scripts
// are in testdata/conflicts. An address is
//
//	        after three probes            another claims it
//	probing ─────────────────▶ quiet ───────────────────────────▶ conflict: the other is probed each minute
//	   │                         ▲                                   │   ▲
//	   │                         └─── not seen for conflictOver ─────┘   │
//	   └───────────────────── another claims it ─────────────────────────┘
type conflicts struct {
	mu    sync.Mutex
	state map[claimed]*conflict
	own   map[[6]byte]bool
}

type conflict struct {
	probes int
	next   time.Time // when to probe next
	by     acd.Use
	last   time.Time // when the other machine was last seen; zero is never
}

// note records the claim of a machine, and reports whether it is new.
func (c *conflicts) note(u acd.Use, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	s, ok := c.state[claimed{u.Link, u.Addr}]
	if !ok || c.own[u.By] {
		return false
	}

	news := s.last.IsZero() || s.by.By != u.By
	s.by, s.last = u, now

	if news {
		s.next = now.Add(conflictAgain)
	}

	return news
}

// round takes the current addresses and hardware addresses of the machine. It returns which addresses to probe, which other machines have
// an address, and when to call again; 0 is never.
func (c *conflicts) round(have map[claimed]bool, own map[[6]byte]bool, now time.Time) (probe []claimed, others map[claimed]acd.Use, again time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.state == nil {
		c.state = map[claimed]*conflict{}
	}

	c.own, others = own, map[claimed]acd.Use{}

	for at := range c.state {
		if !have[at] {
			delete(c.state, at)
		}
	}

	for at := range have {
		s, ok := c.state[at]
		if !ok {
			s = &conflict{next: now}
			c.state[at] = s
		}

		if !s.last.IsZero() && (now.Sub(s.last) >= conflictOver || own[s.by.By]) {
			s.last = time.Time{}
		}

		asked := s.probes >= conflictProbes && s.last.IsZero()

		if !asked && !now.Before(s.next) {
			probe = append(probe, at)
			s.probes = min(s.probes+1, conflictProbes)
			s.next = now.Add(conflictInterval)

			if !s.last.IsZero() {
				s.next = now.Add(conflictAgain)
			}
		}

		if !s.last.IsZero() {
			others[at] = s.by
		}

		if s.probes < conflictProbes || !s.last.IsZero() {
			if wait := s.next.Sub(now); again == 0 || wait < again {
				again = wait
			}
		}
	}

	return probe, others, again
}
