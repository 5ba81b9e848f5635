// SPDX-License-Identifier: Apache-2.0

package trial

import "time"

// maxLists limits the lists of actions of one event. What fails again after that many is done again later (Next).
const maxLists = 10

// Carry passes an event to Judge, and carries out the actions with do until nothing follows. It returns the record and the reason of a Deny,
// or an empty string. now is the time since the boot.
func Carry(r Record, event Event, now func() time.Duration, do func(Record, Action) error) (_ Record, denied string) {
	for range maxLists {
		var actions []Action

		r, actions = Judge(r, event)
		if len(actions) == 0 {
			break
		}

		var failed *Failed

		for _, a := range actions {
			if d, ok := a.(Deny); ok {
				return r, d.Why
			}

			if err := do(r, a); err != nil {
				failed = &Failed{Action: a, Err: err.Error()}

				break
			}
		}

		if failed == nil {
			event = Done{Now: now()}
		} else {
			failed.Now = now()
			event = *failed
		}
	}

	return r, ""
}
