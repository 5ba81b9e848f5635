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

	// maxWait is how long a call waits at most, also without a deadline of its own.
	maxWait = 10 * time.Second
	// maxHosts is how many hosts have an account of their own. Further ones share one.
	maxHosts = 100_000
)

// limiter delays the calls of a host that makes too many. The addresses of an IPv6 host's /64 count as one.
type limiter struct {
	rate  rate.Limit
	burst int

	mu     sync.Mutex
	hosts  map[netip.Prefix]*rate.Limiter
	others *rate.Limiter
}

func newLimiter(perSecond float64, burst int) *limiter {
	if perSecond == 0 {
		perSecond = DefaultRate
	}

	if burst == 0 {
		burst = DefaultBurst
	}

	return &limiter{
		rate: rate.Limit(perSecond), burst: burst,
		hosts: map[netip.Prefix]*rate.Limiter{}, others: rate.NewLimiter(rate.Limit(perSecond), burst),
	}
}

// wait waits until the host may make a call.
func (l *limiter) wait(ctx context.Context, addr netip.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()

	if err := l.of(addr).Wait(ctx); err != nil {
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
