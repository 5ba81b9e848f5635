// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/discovery/client"
	"github.com/seed-59268b81/talos/resources/cluster"
)

// askTimeout is how long one source may take to list the machines.
const askTimeout = 30 * time.Second

// question is one to the sources that are not watched. The first one that answers counts.
type question struct {
	done <-chan error
	has  map[string]client.Affiliate
}

// ask asks another source about machines that the watched one lacks, and takes the answer. Each time it begins with another one, so that one
// which lies does not hold a machine that is gone for ever.
func (c *discovery) ask(ctx context.Context, f facts, log *slog.Logger, now time.Time) {
	if q := c.question; q != nil {
		select {
		case err := <-q.done:
			c.question = nil

			if err != nil {
				log.Warn("no other discovery source says whether machines that the watched one lacks are still there", "error", err, "retry", doubtAgain)
				c.roster.unanswered(now)

				return
			}

			c.conclude(f.own, q.has, now)
		default:
		}

		return
	}

	if !c.roster.asks(now) {
		return
	}

	var others []*session

	for _, s := range f.sources {
		if r := c.sessions[s.name]; r != nil && s.name != c.choice.name {
			if _, works := r.answers(); works {
				others = append(others, r)
			}
		}
	}

	if len(others) == 0 {
		c.conclude(f.own, nil, now)

		return
	}

	c.turn++
	first := c.turn % len(others)
	q := &question{}
	q.done = guard.GoThen(func() error {
		return q.ask(ctx, append(others[first:len(others):len(others)], others[:first]...))
	}, c.notify)
	c.question = q
}

// ask asks the sources one after the other until one answers.
func (q *question) ask(ctx context.Context, sources []*session) error {
	var failed error

	for _, s := range sources {
		has, err := s.list(ctx)
		if err == nil {
			q.has = has

			return nil
		}

		failed = errors.Join(failed, err)
	}

	return failed
}

func (s *session) list(ctx context.Context) (map[string]client.Affiliate, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()

	return s.List(ctx)
}

// conclude takes the answer.
func (c *discovery) conclude(own string, has map[string]client.Affiliate, now time.Time) {
	specs := make(map[string]cluster.AffiliateSpec, len(has))

	for id, a := range has {
		a.ID = id

		if spec, err := fromWire(a); err == nil && id != own {
			specs[id] = spec
		}
	}

	c.roster.answer(specs, now)
	c.outdated = true
}
