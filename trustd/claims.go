// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"net/netip"
	"strings"
	"sync"
	"time"
)

// maxClaims is how many names and addresses are recorded; a node has several. When it is reached, new nodes get certificates only
// for the address that they call from.
const maxClaims = 16384

// claims record which address has a certificate for which names and addresses. While the certificate is valid, no other address
// gets one for the same. So an attacker with a leaked token cannot impersonate a worker that has its certificate.
//
// They are in memory: certificates from other control plane nodes, or from before a restart, are not recorded. A name that the
// cluster's Nodes confirm is the caller's even if another address claimed it first, before the machine existed.
type claims struct {
	mu sync.Mutex
	of map[string]claim
}

type claim struct {
	from  netip.Addr
	until time.Time
}

func newClaims() *claims { return &claims{of: map[string]claim{}} }

// take returns the part of a grant that no other address has claimed, and the rest. The caller may always have its own address.
// Loopback addresses and localhost are not claimed.
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

// sweep removes claims that are no longer valid when there is no room.
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
