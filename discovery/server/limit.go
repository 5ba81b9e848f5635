// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/sys/netgroup"
)

// Limits of calls from one host. A machine makes a few calls a quarter of an hour; many may share an address behind NAT.
const (
	DefaultRate  = 15
	DefaultBurst = 60
	// DefaultWatches is how many watches a host may have at once.
	DefaultWatches = 4096

	// maxWait is how long a call waits at most, also without a deadline of its own.
	maxWait = 10 * time.Second
	// maxHosts is how many hosts have an account of their own. Further ones share one.
	maxHosts = 100_000
	// bytesPerCall is how much of an answer counts as one call: the service holds an answer until it was read.
	bytesPerCall = 64 << 10
)

// limiter delays the calls of a host that makes too many. The addresses of an IPv6 host's /64 count as one.
type limiter struct {
	rate  rate.Limit
	burst int
	// watches is how many watches a host may have.
	watches int

	mu       sync.Mutex
	hosts    map[netip.Prefix]*rate.Limiter
	others   *rate.Limiter
	watching map[netip.Prefix]int
}

func newLimiter(perSecond float64, burst, watches int) *limiter {
	if perSecond == 0 {
		perSecond = DefaultRate
	}

	if burst == 0 {
		burst = DefaultBurst
	}

	if watches == 0 {
		watches = DefaultWatches
	}

	return &limiter{
		rate: rate.Limit(perSecond), burst: burst, watches: watches,
		hosts: map[netip.Prefix]*rate.Limiter{}, others: rate.NewLimiter(rate.Limit(perSecond), burst), watching: map[netip.Prefix]int{},
	}
}

// watch admits a watch of a host, which ends when leave is called.
func (l *limiter) watch(addr netip.Addr) (leave func(), err error) {
	host := netgroup.Of(addr)

	l.mu.Lock()
	defer l.mu.Unlock()

	if l.watching[host] >= l.watches {
		return nil, status.Errorf(codes.ResourceExhausted, "too many watches of %s", host)
	}

	l.watching[host]++

	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()

		if l.watching[host]--; l.watching[host] == 0 {
			delete(l.watching, host)
		}
	}, nil
}

// wait waits until the host may make so many calls.
func (l *limiter) wait(ctx context.Context, addr netip.Addr, calls int) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()

	if err := l.of(addr).WaitN(ctx, min(calls, l.burst)); err != nil {
		return status.Error(codes.ResourceExhausted, "rate limit exceeds request timeout")
	}

	return nil
}

func (l *limiter) of(addr netip.Addr) *rate.Limiter {
	key := netgroup.Of(addr)

	l.mu.Lock()
	defer l.mu.Unlock()

	own, ok := l.hosts[key]
	if !ok {
		if len(l.hosts) >= maxHosts {
			return l.others
		}

		own = rate.NewLimiter(l.rate, l.burst)
		l.hosts[key] = own
	}

	return own
}

// sweep removes full accounts, which new ones would equal.
func (l *limiter) sweep(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()

	for key, own := range l.hosts {
		if own.TokensAt(now) >= float64(l.burst) {
			delete(l.hosts, key)
		}
	}
}
