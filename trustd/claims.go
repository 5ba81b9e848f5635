// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"net/netip"
	"strings"
	"sync"
	"time"
)

// maxClaims are the names and addresses that are remembered: some of each node. With more, nobody gets another's, and new
// nodes get certificates for the address that they call from alone.
const maxClaims = 16384

// claims remember who has a certificate for which names and addresses: for as long as that lives, nobody gets one for the same
// from another address. A token that leaks does not make its holder a man in the middle of a worker that is there.
//
// They are in memory: what another control plane node signed, or this one before it started, is not known. A name that the cluster's
// Nodes confirm is the caller's, whoever was first: it may have been asked for before its machine was there.
type claims struct {
	mu sync.Mutex
	of map[string]claim
}

type claim struct {
	from  netip.Addr
	until time.Time
}

func newClaims() *claims { return &claims{of: map[string]claim{}} }

// take returns the part of a grant that is not another's, and what is. The address of the caller is its own, whoever had it
// before. What every node calls itself is nobody's.
func (c *claims) take(
	granted Request, from netip.Addr, confirmed map[string]bool, now time.Time, life time.Duration,
) (own Request, left []string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	from = from.Unmap().WithZone("")
	c.sweep(now)

	mine := func(what string, always bool) bool {
		held, ok := c.of[what]
		room := ok || len(c.of) < maxClaims

		if !always && (!room || ok && held.from != from && now.Before(held.until)) {
			return false
		}

		if room {
			c.of[what] = claim{from, now.Add(life)}
		}

		return true
	}

	return granted.keep(func(addr netip.Addr) bool {
		return addr.IsLoopback() || mine(addr.String(), addr == from)
	}, func(name string) bool {
		name = strings.ToLower(name)

		return name == "localhost" || mine(name, confirmed[name])
	})
}

// sweep forgets what is no longer valid when there is no room.
func (c *claims) sweep(now time.Time) {
	if len(c.of) < maxClaims {
		return
	}

	for what, held := range c.of {
		if !now.Before(held.until) {
			delete(c.of, what)
		}
	}
}
