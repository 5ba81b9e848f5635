// SPDX-License-Identifier: Apache-2.0

package quorum

import "fmt"

// of returns how many of the voters are a quorum.
func of(voters int) int { return voters/2 + 1 }

// Check returns nil if the action may be done to a member, or the reason why not.
func Check(members []Member, action Action, target uint64) error {
	var (
		found           bool
		t               Member
		rest            []Member // voters besides the target
		healthy, absent []Member // of the rest
		voters          int
	)

	for _, m := range members {
		switch {
		case m.ID == target:
			found, t = true, m
			if !m.Learner {
				voters++
			}
		case m.Learner:
		default:
			voters++

			rest = append(rest, m)

			if m.Healthy {
				healthy = append(healthy, m)
			} else {
				absent = append(absent, m)
			}
		}
	}

	switch {
	case !found && action.forever() && action != Reset:
		return fmt.Errorf("%s %016x: %w", action, target, ErrNoMember)
	case !found, t.Learner:
		return nil
	}

	refusal := &Refusal{Action: action, Target: t, Voters: rest, Healthy: healthy, Missing: absent, All: voters}

	if !action.forever() {
		refusal.Needed = of(voters)
		if voters == 1 || !t.Healthy || len(healthy) >= refusal.Needed {
			return nil
		}

		return refusal
	}

	return refusal.forever()
}

// forever decides on an action that takes the vote away.
func (r *Refusal) forever() error {
	if len(r.Voters) == 0 {
		err := fmt.Errorf("%s %s: %w", r.Action, r.Target, ErrLast)
		if flag := r.Action.Anyway(); flag != "" {
			err = fmt.Errorf("%w; if that is what you want: %s", err, flag)
		}

		return err
	}

	now := r.Healthy
	if r.Target.Healthy {
		now = append([]Member{r.Target}, now...)
	}

	if r.Needed = of(r.All); len(now) < r.Needed {
		r.Lost, r.Healthy = true, now

		return r
	}

	if r.Needed = of(len(r.Voters)); len(r.Healthy) < r.Needed {
		return r
	}

	return nil
}

// CheckPromotion returns nil if a healthy learner may get a vote: then the voters must still have a quorum.
func CheckPromotion(members []Member) error {
	voters, healthy := 0, 0

	for _, m := range members {
		if !m.Learner {
			voters++

			if m.Healthy {
				healthy++
			}
		}
	}

	if needed := of(voters + 1); healthy+1 < needed {
		return fmt.Errorf("%w: of %d voting members %d would be healthy, %d are needed", ErrQuorum, voters+1, healthy+1, needed)
	}

	return nil
}
