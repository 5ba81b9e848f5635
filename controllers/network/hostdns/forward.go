// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/miekg/dns"

	"github.com/seed-59268b81/talos/cosi/guard"
)

var errNoUpstream = errors.New("no DNS server is known")

// result is what an upstream answered.
type result struct {
	from   Upstream
	answer *dns.Msg
	err    error
}

// refuses reports whether another upstream may know more.
func (r result) refuses() bool {
	switch r.answer.Rcode {
	case dns.RcodeServerFailure, dns.RcodeRefused, dns.RcodeNotImplemented, dns.RcodeFormatError:
		return true
	default:
		return false
	}
}

// forward asks upstreams, one after the other; one that takes long is not waited for before the next is asked too. The first useful answer
// counts.
func (r *Resolver) forward(asker context.Context, upstreams []Upstream, query *dns.Msg, timeout time.Duration) (*dns.Msg, error) {
	if len(upstreams) == 0 {
		return nil, errNoUpstream
	}

	upstreams = r.health.order(upstreams, time.Now())

	ctx, cancel := context.WithTimeout(asker, timeout)
	defer cancel()

	var (
		results = make(chan result, len(upstreams)) // those that come too late are not received
		asked   int
		done    = map[Upstream]bool{}
		refusal *dns.Msg
		errs    []error
		next    = time.NewTicker(stagger)
	)

	defer next.Stop()

	for len(done) < len(upstreams) {
		if asked == len(done) { // no upstream is being asked
			r.ask(ctx, upstreams[asked], query, results)
			asked++
		}

		select {
		case res := <-results:
			if asker.Err() != nil { // which says nothing about the upstream
				return nil, asker.Err()
			}

			done[res.from] = true

			if res.err == nil && !res.refuses() {
				r.judge(upstreams[:asked], res.from, done)

				return res.answer, nil
			}

			if res.err == nil {
				refusal = res.answer

				r.health.note(res.from, true, time.Now())
			} else {
				r.health.note(res.from, false, time.Now())

				errs = append(errs, res.err)
			}
		case <-next.C:
			if asked < len(upstreams) {
				r.ask(ctx, upstreams[asked], query, results)
				asked++
			}
		case <-ctx.Done():
			if asker.Err() != nil {
				return nil, asker.Err()
			}

			r.judge(upstreams[:asked], Upstream{}, done)

			return nil, errors.Join(append(errs, ctx.Err())...)
		}
	}

	if refusal != nil {
		return refusal, nil
	}

	return nil, errors.Join(errs...)
}

func (r *Resolver) ask(ctx context.Context, u Upstream, query *dns.Msg, results chan<- result) {
	guard.Go(func() error {
		res := result{from: u}

		res.err = guard.Call(func() (err error) {
			own := query.Copy()
			own.Id = dns.Id()

			if res.answer, err = r.Exchange(ctx, u, own); err != nil {
				return err
			}

			return sound(u, res.answer)
		})
		results <- res

		return nil
	})
}

// sound returns an error if an answer cannot be passed on. The library reads a record whose data ends early, but what it then writes is
// one that no client can read.
func sound(from Upstream, answer *dns.Msg) error {
	copied := *answer
	copied.Compress = true

	wire, err := copied.Pack()
	if err == nil {
		err = new(dns.Msg).Unpack(wire)
	}

	if err != nil {
		return fmt.Errorf("ask %s: the answer has a broken record: %w", from, err)
	}

	return nil
}

// judge records that an upstream answered, if one did, and that others which were asked earlier did not.
func (r *Resolver) judge(asked []Upstream, first Upstream, done map[Upstream]bool) {
	now := time.Now()
	r.health.note(first, true, now)

	for _, u := range asked {
		if u == first {
			return
		}

		if !done[u] {
			r.health.note(u, false, now)
		}
	}
}
