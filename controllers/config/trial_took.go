// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"slices"
	"time"

	"github.com/seed-59268b81/talos/install/trial"
)

// maxTook limits how long a start is taken to have lasted: it may have waited for a person, or for its cluster.
const maxTook = 5 * time.Minute

// firstMet is when each condition of this boot came to hold, in the time since the boot: first, or again during the start. The condition of
// static pods, for example, holds as long as there are none. The time that the machine waits in maintenance for a configuration is not that
// of a start.
type firstMet struct {
	at map[string]time.Duration
	// holds has what held when it was seen last.
	holds map[string]bool
	// over is set when the start is over at the latest: a change was made.
	over bool
	// waiting is set in maintenance, since from; waited is how long that was in all.
	waiting      bool
	from, waited time.Duration
}

func newFirstMet() firstMet {
	return firstMet{at: map[string]time.Duration{}, holds: map[string]bool{}}
}

// note takes the conditions that are seen at a time since the boot.
func (f *firstMet) note(conditions []trial.Condition, now time.Duration) {
	met := func(name string) bool {
		return slices.ContainsFunc(conditions, func(c trial.Condition) bool { return c.Name == name && c.Met })
	}

	switch waits := met(runningCondition) && !met(configurationCondition); {
	case waits && !f.waiting:
		f.waiting, f.from = true, now
	case !waits && f.waiting:
		f.waiting = false
		f.waited += now - f.from
	}

	for _, c := range conditions {
		if _, known := f.at[c.Name]; c.Met && !f.holds[c.Name] && (!known || !f.over && now-f.waited <= maxTook) {
			f.at[c.Name] = now
		}

		f.holds[c.Name] = c.Met
	}
}

// took returns how long the machine took until all held that holds now, and until all of that held which is its own: what a trial waits for. Some
// other condition may never hold, and the cluster is asked during a trial only, so when it answered first says nothing.
func (f *firstMet) took(conditions []trial.Condition) (all, own time.Duration) {
	for _, c := range conditions {
		if !c.Met || c.Name == endpointCondition || c.Name == apiServerCondition {
			continue
		}

		at := min((f.at[c.Name] - f.waited).Round(time.Second), maxTook)
		all = max(all, at)

		if c.Kind != trial.Cluster {
			own = max(own, at)
		}
	}

	return all, own
}
