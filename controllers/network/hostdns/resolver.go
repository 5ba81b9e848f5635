// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

// Resolver answers queries.
type Resolver struct {
	// Exchange asks an upstream: that of a Client.
	Exchange func(ctx context.Context, to Upstream, query *dns.Msg) (*dns.Msg, error)

	now    atomic.Pointer[knowledge]
	health health
}

// knowledge is what answers follow from.
type knowledge struct {
	names     Names
	upstreams []Upstream
	kept      *cache
	flights   *flights
}

// Set sets the known names, which the caller does not change any more, and the upstreams in the order in which they are asked. Answers of other
// upstreams are forgotten: they may have a view of their own.
func (r *Resolver) Set(names Names, upstreams []Upstream) {
	old := r.now.Load()

	next := &knowledge{names: names, upstreams: upstreams}
	if old != nil && slices.Equal(old.upstreams, upstreams) {
		next.kept, next.flights = old.kept, old.flights
	} else {
		next.kept, next.flights = newCache(maxCache), &flights{}
		r.health.forget()
	}

	r.now.Store(next)
}

// Answer returns the reply to a query, or nil if it gets none.
func (r *Resolver) Answer(ctx context.Context, wire []byte, udp bool) []byte {
	q, rcode := parse(wire, udp)

	switch {
	case q == nil:
		return nil
	case rcode != dns.RcodeSuccess:
		return q.reply(nil, rcode, "")
	}

	answer, err := r.resolve(ctx, q)
	if err != nil {
		return q.reply(nil, dns.RcodeServerFailure, err.Error())
	}

	return q.reply(answer, 0, "")
}

func (r *Resolver) resolve(ctx context.Context, q *query) (*dns.Msg, error) {
	known := r.now.Load()
	if known == nil {
		return nil, errNoUpstream
	}

	if own := known.names.answer(q.Question[0]); own != nil {
		return own, nil
	}

	k := q.key()

	kept, stale := known.kept.get(k, time.Now())
	if kept != nil && !stale {
		return kept, nil
	}

	timeout, down := queryTimeout, r.health.down(known.upstreams, time.Now())

	switch {
	case kept != nil && down: // an upstream is asked again in a while (RFC 8767, 5: failure recheck timer)
		return kept, nil
	case kept != nil, down:
		timeout = shortTimeout
	}

	answer, err := known.flights.do(ctx, k, func() (*dns.Msg, error) {
		answer, err := r.forward(ctx, known.upstreams, q.question(), timeout)
		if err == nil {
			known.kept.put(k, answer, time.Now())
		}

		return answer, err
	})

	if kept != nil && (err != nil || answer.Rcode == dns.RcodeServerFailure) {
		return kept, nil
	}

	return answer, err
}
