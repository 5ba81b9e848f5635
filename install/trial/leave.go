// SPDX-License-Identifier: Apache-2.0

package trial

import "time"

// maxRestarts limits the restarts through which a trial goes on. After that the configuration before it is tried by the next boot: restarts
// may be what a person does against the configuration on trial.
const maxRestarts = 2

// settles reports whether a trial may be committed before its conditions held for Hold.
func (r Record) settles(now time.Duration) bool {
	w := r.watch

	return r.proves() && w.healthy && now-w.held >= Settled
}

// proves reports whether a configuration is on trial that waits for no person.
func (r Record) proves() bool {
	return r.State == Running && !r.Confirm && r.Entry.To == "" && r.watch.committing == ""
}

// leave commits a trial that is healthy, or has it begin again with the next boot.
func (r Record) leave(e Leave) (Record, []Action) {
	switch {
	case r.settles(e.Now):
		return r.commit("all conditions hold, and " + e.Why)
	case !r.proves() || r.Restarts >= maxRestarts:
		return r, nil
	}

	r.State, r.AtBoot, r.ArmedIn, r.Boot, r.Began, r.watch = Armed, true, e.Boot, "", 0, watch{}
	r.Restarts++

	if e.Config != "" && e.Config != r.Config.To {
		r.Config.From = e.Config
	}

	return r, []Action{Save{r}, Report{Text: "trial " + r.ID + " goes on at the next boot: " + e.Why}}
}
