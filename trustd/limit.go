// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-59268b81/talos/sys/netgroup"
)

// A node sends a request twice a day, and more when its names change. Many nodes may share an address behind NAT.
const (
	requestsPerSecond = 1
	requestsAtOnce    = 20

	// maxPeers is how many peers have an account of their own. Further peers share one.
	maxPeers = 4096
)

// limiter limits the rate of requests of each peer. Its memory is bounded.
type limiter struct {
	mu     sync.Mutex
	peers  map[netip.Prefix]*rate.Limiter
	swept  time.Time
	others *rate.Limiter
}

func newLimiter() *limiter {
	return &limiter{peers: map[netip.Prefix]*rate.Limiter{}, others: account()}
}

func account() *rate.Limiter { return rate.NewLimiter(requestsPerSecond, requestsAtOnce) }

// allow takes one request from the peer's account.
func (l *limiter) allow(addr netip.Addr, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	key := netgroup.Of(addr)

	own, ok := l.peers[key]
	if !ok {
		if len(l.peers) >= maxPeers {
			l.sweep(now)
		}

		if len(l.peers) >= maxPeers {
			return l.others.AllowN(now, 1)
		}

		own = account()
		l.peers[key] = own
	}

	return own.AllowN(now, 1)
}

// sweep removes full accounts, which new ones would equal. It runs at most once a second.
func (l *limiter) sweep(now time.Time) {
	if now.Sub(l.swept) < time.Second {
		return
	}

	l.swept = now

	for key, own := range l.peers {
		if own.TokensAt(now) >= requestsAtOnce {
			delete(l.peers, key)
		}
	}
}
