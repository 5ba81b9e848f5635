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
	// conflictAgain is how often the other machine is asked whether it still has the address, and conflictOver when it is taken to have not.
	conflictAgain = time.Minute
	conflictOver  = 3*conflictAgain + conflictInterval
)

// claimed is an address of this machine on a link.
type claimed struct {
	link uint32
	addr netip.Addr
}

// conflicts are the addresses of this machine, how each was asked for, and who else has it: a state machine, whose scripts are in
// testdata/conflicts. An address is
//
//	        after three probes            another says it has it
//	probing ─────────────────▶ quiet ───────────────────────────▶ conflict: the other is asked each minute
//	   │                         ▲                                   │   ▲
//	   │                         └─── not seen for conflictOver ─────┘   │
//	   └─────────────────── another says it has it ──────────────────────┘
type conflicts struct {
	mu    sync.Mutex
	state map[claimed]*conflict
	own   map[[6]byte]bool
}

type conflict struct {
	probes int
	next   time.Time // of the probes
	by     acd.Use
	last   time.Time // when the other was seen; zero is never
}

// note takes in what a machine said, and reports whether that is news.
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

// round takes the addresses that the machine has now, and its hardware addresses. It returns which to probe, who has which too, and when
// to call again; 0 is never.
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
