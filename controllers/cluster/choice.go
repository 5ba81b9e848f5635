// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"
)

// choice decides which source is watched. It has no clock. A source that fails is given up after patience, and one that is preferred is chosen
// again when it has worked for a while, so that two sources which come and go do not take turns.
type choice struct {
	name string
	// failing is since when the chosen source does not work, or zero.
	failing time.Time
	// better is a source that is preferred and works, and since when.
	better      string
	betterSince time.Time
}

const (
	patience = 3 * time.Second
	trusted  = 30 * time.Second
)

// candidate is a source, and whether it works.
type candidate struct {
	name  string
	works bool
}

// next returns the choice among sources in the order of preference, and when to choose again; zero means after the next change.
func (c choice) next(candidates []candidate, now time.Time) (choice, time.Time) {
	best := slices.IndexFunc(candidates, func(x candidate) bool { return x.works })
	current := slices.IndexFunc(candidates, func(x candidate) bool { return x.name == c.name })

	switch {
	case current < 0 && best < 0:
		return choice{}, time.Time{}
	case current < 0:
		return choice{name: candidates[best].name}, time.Time{}
	case !candidates[current].works:
		if c.failing.IsZero() {
			c.failing = now
		}

		c.better = ""

		end := c.failing.Add(patience)

		switch {
		case now.Before(end):
			return c, end
		case best < 0:
			return c, time.Time{}
		default:
			return choice{name: candidates[best].name}, time.Time{}
		}
	case best == current:
		return choice{name: c.name}, time.Time{}
	default:
		c.failing = time.Time{}

		if name := candidates[best].name; c.better != name {
			c.better, c.betterSince = name, now
		}

		if end := c.betterSince.Add(trusted); now.Before(end) {
			return c, end
		}

		return choice{name: c.better}, time.Time{}
	}
}
