// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"math/rand/v2"
	"time"

	"github.com/seed-59268b81/talos/resources/cluster"
)

// roster is what is known about the other machines from discovery services: what the watched source says now, and what was said before. It has
// no clock and no network.
//
// Something that was said before stays until the watched source, which has told all that it knows, has lacked it for a while, and another
// source lacks it, too (see doubt). So a machine that
// changes from one source to another, or whose source has just started, does not lose members that are only late. While no source answers,
// nothing is lost at all.
type roster struct {
	// watched is the source that present is of.
	watched string
	present map[string]cluster.AffiliateSpec
	// since is when the watched source had told all that it knows; zero before that.
	since time.Time
	// young is set while that source may not know machines yet that are alive.
	young bool
	// kept is what was said before, if it is newer than what the watched source says, or missing there.
	kept map[string]cluster.AffiliateSpec
	// doubts are about machines that are kept and that the watched source lacks. share is this machine's part of the time over which the
	// questions of all machines are spread.
	doubts map[string]doubt
	share  float64
}

// late is how long a machine may be missing at a source that knows the whole cluster, beside machines that it has forgotten itself.
const late = 2 * time.Minute

// newRoster returns an empty one.
func newRoster() roster { return roster{share: rand.Float64()} }

// heard is what a source says at one time.
type heard struct {
	source string
	// complete and young are those of client.View.
	complete, young bool
	affiliates      map[string]cluster.AffiliateSpec
}

// restore sets what was known before this boot.
func (r *roster) restore(kept []cluster.AffiliateSpec) {
	for _, a := range kept {
		r.keep(a)
	}
}

// keep remembers what was said, if it is newer than what is remembered.
func (r *roster) keep(a cluster.AffiliateSpec) {
	if r.kept == nil {
		r.kept = map[string]cluster.AffiliateSpec{}
	}

	if have, ok := r.kept[a.NodeID]; !ok || have.Revision <= a.Revision {
		r.kept[a.NodeID] = a
	}
}

// hear takes what the watched source says.
func (r *roster) hear(h heard, now time.Time) {
	steady, wait := h.source == r.watched && h.complete && !r.since.IsZero(), farewells+r.spread()

	for id, was := range r.present {
		if is, still := h.affiliates[id]; still {
			if is.Revision < was.Revision {
				r.keep(was)
			}

			continue
		}

		r.keep(was)

		// A source that goes on and forgets a machine was told so, or has not heard from it for long.
		if steady {
			r.suspect(id, now, wait)
		}
	}

	r.watched, r.present, r.young = h.source, h.affiliates, h.young

	switch {
	case !h.complete:
		r.since = time.Time{}
	case !steady:
		// Another source may be late itself.
		r.since = now
		clear(r.doubts)
	}
}

// interrupt says that the connection to the watched source has ended, or that it has not told all that it knows.
func (r *roster) interrupt() { r.since = time.Time{} }

// settle forgets what was said before and is outdated, and begins to doubt what is missing for long. It returns when it is to be called again; the zero time means after the next change.
// Nothing tells that a source is no longer young, so that it is asked from time to time.
func (r *roster) settle(now time.Time) (again time.Time) {
	maps.DeleteFunc(r.kept, func(id string, was cluster.AffiliateSpec) bool {
		is, ok := r.present[id]

		return ok && is.Revision >= was.Revision
	})

	maps.DeleteFunc(r.doubts, func(id string, _ doubt) bool {
		_, present := r.present[id]
		_, kept := r.kept[id]

		return present || !kept
	})

	again = r.nextDoubt()

	var end time.Time

	switch end = r.since.Add(late); {
	case r.since.IsZero() || len(r.kept) == len(r.doubts):
		return again
	case r.young:
		end = now.Add(late)
	case !now.Before(end):
		for id := range r.kept {
			if _, present := r.present[id]; !present {
				r.suspect(id, now, r.spread())
			}
		}

		return r.nextDoubt()
	}

	if again.IsZero() || end.Before(again) {
		again = end
	}

	return again
}

// raw returns the raw affiliates by their ids.
func (r *roster) raw() map[string]cluster.AffiliateSpec {
	out := make(map[string]cluster.AffiliateSpec, len(r.present)+len(r.kept))

	for id, a := range r.kept {
		out[cluster.RawKept+id] = a
	}

	for id, a := range r.present {
		out[cluster.RawService+id] = a
	}

	return out
}

// newest returns what is known about each machine: what is kept is the newer one, if there is any.
func (r *roster) newest() map[string]cluster.AffiliateSpec {
	out := maps.Clone(r.present)
	if out == nil {
		out = map[string]cluster.AffiliateSpec{}
	}

	maps.Copy(out, r.kept)

	return out
}
