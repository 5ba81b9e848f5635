// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// observe notes from when the conditions hold.
func (r *Record) observe(e Observe) {
	var unmet []Condition

	own := true

	for _, c := range e.Conditions {
		if c.Met || c.Kind != Own && !slices.Contains(r.Before, c.Name) {
			continue
		}

		unmet = append(unmet, c)
		own = own && c.Kind == Cluster
	}

	w := &r.watch
	w.unmet, w.lost = unmet, e.Lost

	// Without any condition the machine has not looked yet.
	seen := len(e.Conditions) > 0
	own = own && seen

	if w.ownAll && !own {
		w.ownLost = e.Now
	}

	since(&w.healthy, &w.held, seen && len(unmet) == 0, e.Now)
	since(&w.ownAll, &w.own, own, e.Now)
}

// Due returns when the trial ends at the latest, as time since the boot, and the limit that ends it then.
func (r Record) Due() (end, limit time.Duration) {
	end, limit = r.Began+r.Deadline, r.Deadline

	if r.Own > 0 && !r.Confirm && !r.watch.ownAll {
		if lost := max(r.Began, r.watch.ownLost) + r.Own; lost < end {
			return lost, r.Own
		}
	}

	return end, limit
}

// since keeps from when something is true.
func since(was *bool, from *time.Duration, is bool, now time.Duration) {
	if is && !*was {
		*from = now
	}

	*was = is
}

// Trouble returns the error for which a commit or an undo is done again, or an empty string.
func (r Record) Trouble() string { return r.watch.trouble }

// Committing reports whether a running trial is being committed. That may need several attempts, for which there is no deadline once the
// commit point has passed.
func (r Record) Committing() bool { return r.State == Running && r.watch.committing != "" }

// Unmet returns what a running trial waits for, as text.
func (r Record) Unmet() string {
	if r.watch.healthy {
		return fmt.Sprintf("all conditions to hold for %s", Hold)
	}

	if len(r.watch.unmet) == 0 {
		return "no conditions were seen"
	}

	var out []string

	for _, c := range r.watch.unmet {
		if c.Why != "" {
			c.Name += " (" + c.Why + ")"
		}

		out = append(out, c.Name)
	}

	return strings.Join(out, ", ")
}
