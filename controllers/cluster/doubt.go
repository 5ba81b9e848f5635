// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"github.com/seed-59268b81/talos/resources/cluster"
)

// A source that leaves machines out must change nothing, whether it lies or was told by someone else to forget them. So a machine that the
// watched source lacks is in doubt, and another source is asked before it is forgotten. Who leaves tells all sources, and sources forget a
// machine that is off at about the same time: what only one of two sources has is in doubt again later.

const (
	// farewells is how long the news that a machine leaves may take to reach another source.
	farewells = 3 * time.Second
	// perMachine spreads the questions of a large cluster, whose answers are large: each machine waits for a part of this times the machines.
	perMachine = 100 * time.Millisecond
	// doubtAgain and doubtRarely bound the time until another source is asked about a machine that one has.
	doubtAgain  = 30 * time.Second
	doubtRarely = 10 * time.Minute
)

// doubt is about a machine that the watched source lacks: since when, and when to ask.
type doubt struct{ since, due time.Time }

// suspect begins a doubt, unless there is one.
func (r *roster) suspect(id string, now time.Time, wait time.Duration) {
	if _, known := r.doubts[id]; known {
		return
	}

	if r.doubts == nil {
		r.doubts = map[string]doubt{}
	}

	r.doubts[id] = doubt{now, now.Add(wait)}
}

// spread returns the part of the wait before a question that grows with the cluster.
func (r *roster) spread() time.Duration {
	return time.Duration(r.share * float64(perMachine) * float64(len(r.present)+len(r.kept)))
}

// asks reports whether another source is to be asked for what it knows. The answer is for answer.
func (r *roster) asks(now time.Time) bool {
	next := r.nextDoubt()

	return !next.IsZero() && !next.After(now)
}

// nextDoubt returns when the first doubt is due. Nothing is forgotten while the watched source is not there.
func (r *roster) nextDoubt() (next time.Time) {
	if r.since.IsZero() {
		return next
	}

	for _, d := range r.doubts {
		if next.IsZero() || d.due.Before(next) {
			next = d.due
		}
	}

	return next
}

// answer takes what another source has; nothing if there is no other source. Machines in doubt that it lacks, too, are forgotten. What
// it has besides is not taken: it may be what an honest source has forgotten. One answer is for all machines in doubt, but for those whose
// farewell may not have reached the source.
func (r *roster) answer(has map[string]cluster.AffiliateSpec, now time.Time) {
	for id, d := range r.doubts {
		if d.due.After(now) && now.Sub(d.since) < farewells {
			continue
		}

		was := r.kept[id]

		is, found := has[id]
		if !found || is.Revision < was.Revision {
			delete(r.doubts, id)
			delete(r.kept, id)

			continue
		}

		r.keep(is)

		d.due = now.Add(min(max(now.Sub(d.since), doubtAgain), doubtRarely))
		r.doubts[id] = d
	}
}

// unanswered puts the doubts off: no source has answered.
func (r *roster) unanswered(now time.Time) {
	for id, d := range r.doubts {
		if !d.due.After(now) {
			d.due = now.Add(doubtAgain)
			r.doubts[id] = d
		}
	}
}
